"""Regularised least squares with a semi-norm."""
