"""Margin machines: problems, paths and solvers."""
