"""Solvers: arrays in, arrays out."""
