"""algebras.py -- sp(4) and sl(3) as a rival needs them: sparse structure constants and form, from matrices."""

import numpy as np


def unit(n, i, j, value=1.0):
    m = np.zeros((n, n))
    m[i, j] = value
    return m


def sp4():
    """[[A, B], [C, -A^T]] with B and C symmetric: A11, A12, A21, A22, C11, C12, C22, B11, B12, B22."""
    e = lambda i, j: unit(4, i - 1, j - 1)  # noqa: E731
    return np.array([e(1, 1) - e(3, 3), e(1, 2) - e(4, 3), e(2, 1) - e(3, 4), e(2, 2) - e(4, 4),
                     e(3, 1), e(3, 2) + e(4, 1), e(4, 2), e(1, 3), e(1, 4) + e(2, 3), e(2, 4)]), 6.0


def sl3():
    e = lambda i, j: unit(3, i - 1, j - 1)  # noqa: E731
    return np.array([np.diag([1., -1, 0]), e(1, 2) + e(2, 1), e(2, 1) - e(1, 2), np.diag([1., 1, -2]),
                     e(1, 3), e(2, 3), e(3, 1), e(3, 2)]), 6.0


class Algebra:
    """Constants: [E_i, E_j] = sum_k c_ijk E_k as lists (i, j, k, c); the form is a permutation with scales, because in
    these bases every row of its matrix has one entry."""

    def __init__(self, basis, scale):
        self.basis, self.dim = basis, len(basis)
        flat = basis.reshape(self.dim, -1).T
        vee = np.linalg.pinv(flat)
        prod = np.einsum("iab,jbc->ijac", basis, basis)
        c = np.einsum("kx,ijx->ijk", vee, (prod - prod.transpose(1, 0, 2, 3)).reshape(self.dim, self.dim, -1))
        c[abs(c) < 1e-12] = 0
        self.c = c
        gram = scale * np.einsum("iab,jba->ij", basis, basis)
        assert ((abs(gram) > 1e-12).sum(1) == 1).all()
        self.partner = abs(gram).argmax(1)
        self.scale = gram[np.arange(self.dim), self.partner]
        self.gram = gram
        # c is antisymmetric: half of the products, each used twice
        self.pairs = [(i, j) for i in range(self.dim) for j in range(i) if c[i, j].any()]
        self.terms = [[(p, c[i, j, k]) for p, (i, j) in enumerate(self.pairs) if c[i, j, k]] for k in range(self.dim)]


SP4, SL3 = Algebra(*sp4()), Algebra(*sl3())


def check(bracket, form, algebra, to_numpy, from_numpy):
    """A rival must compute what it is timed for: bracket and form against the matrices themselves."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, algebra.dim, 5)).astype(np.float32)
    hat = lambda v: np.einsum("bkc,kij->bcij", v, algebra.basis)  # noqa: E731
    z = to_numpy(bracket(from_numpy(x), from_numpy(y)))
    want = hat(x) @ hat(y) - hat(y) @ hat(x)
    assert abs(hat(z) - want).max() < 1e-4 * abs(want).max()
    want = np.einsum("bic,ij,bjc->bc", x, algebra.gram, y)
    assert abs(to_numpy(form(from_numpy(x), from_numpy(y))) - want).max() < 1e-4 * abs(want).max()
