/* parts.h -- our network for few jets. */
#ifndef TASKS_JETS_PARTS_H
#define TASKS_JETS_PARTS_H

#include "tasks/jets/layers.h"

/* Computes logits from the momenta of particles (rows without beams), of the jet and of the beams: the mean over the towers;
 * for training, those of each tower, two after the other. `first` are the logits of another network that takes the place of the first
 * tower; NULL: none. */
RelnNode *jets_parts(const JetsNet *n, RelnNode *p, RelnNode *total, RelnNode *beams,
                     RelnNode *first);

#endif
