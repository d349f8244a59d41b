/* kit.h -- everything that the program uses: the library's public headers, and internal headers that are not installed.
 *
 *     kit/doc.h      trees of settings and results, as YAML and JSON
 *     kit/files.h    whole files, folders, locks
 *     kit/report.h   numbers, tables, plots and pages
 *     kit/scores.h   the scores of a classifier as tables, plots and trees
 *     kit/splats.h   splats, meshes and points in space: readers, sampling, groups
 *     kit/machine.h  a description of this machine, and its peak rates
 *     kit/spec.h, kit/model.h, kit/data.h   a SPEC, the network it describes, the arrays it takes
 *
 * The functions are part of the library, but it does not export them, and they may change at any time.
 */
#ifndef KIT_KIT_H
#define KIT_KIT_H

#include "kit/data.h"
#include "kit/doc.h"
#include "kit/files.h"
#include "kit/machine.h"
#include "kit/model.h"
#include "kit/report.h"
#include "kit/scores.h"
#include "kit/spec.h"
#include "kit/splats.h"
#include "reln/reln.h"

#endif
