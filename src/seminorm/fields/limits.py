"""How far refinement may go."""

DEEPEST = {1: 40, 2: 26, 3: 18, 4: 13}
"""The deepest level of a field in each dimension: the cells of a level are numbered by 64-bit integers."""

DEEPEST_SURFACE = 14
"""The deepest level of a surface that users may ask for: no scanner resolves more cells across an object."""
