/* reln.h -- everything a user of the library needs. Read from the top; stop where you have enough.
 *
 * 1. Train on arrays in files, without a line of network code (this is `reln fit` from C)
 *        fit.h        reln_fit_open, reln_fit_run; reln_model_load, reln_predict, reln_evaluate, reln_check
 *        model.h      facts about a trained model: its symmetry, targets, size, best step
 *        io.h         arrays from .npy .npz .safetensors .h5, and into the first three
 *
 * 2. Build a network of your own: the first program of README.md uses these and no others
 *        base.h       statuses, the context that owns errors and memory
 *        setting.h    symmetry, features, store and graph, opened and closed together
 *        nn.h         layers: linear, affine, gates, brackets, products, invariants, attention, EMLP ...
 *        plan.h       a graph made ready to run; running it
 *        train.h      losses, optimisers, schedules, the training loop, which can be stopped and resumed
 *
 * 3. Data in and out of the algebra
 *        lift.h       vectors, covariances, four-vectors into matrices and back
 *        matrix.h     exp, log, roots of small matrices
 *        random.h     random numbers that are functions of (seed, stream)
 *
 * 4. The parts from which the headers above are made
 *        algebra.h    algebras from names or bases: bracket, centre, form, group elements
 *        rep.h        groups, representations, all equivariant maps between them
 *        graph.h      nodes and their types, gradients, functions, parameters
 *        ops.h        every op
 *        optimiser.h  optimisers as ops
 *        pool.h       threads
 *        comm.h       processes that train together
 *
 * The shared library exports the functions that these headers declare and no others. `tools/check-abi`, a
 * test, fails when an exported function disappears.
 */
#ifndef RELN_RELN_H
#define RELN_RELN_H

#include "reln/algebra.h"
#include "reln/base.h"
#include "reln/comm.h"
#include "reln/fit.h"
#include "reln/graph.h"
#include "reln/io.h"
#include "reln/lift.h"
#include "reln/matrix.h"
#include "reln/model.h"
#include "reln/nn.h"
#include "reln/ops.h"
#include "reln/optimiser.h"
#include "reln/plan.h"
#include "reln/pool.h"
#include "reln/random.h"
#include "reln/rep.h"
#include "reln/setting.h"
#include "reln/train.h"

#endif
