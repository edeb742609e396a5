"""Metrics learned from gradients: x -> x L, L a power of the average outer product of those of a fitted function."""
