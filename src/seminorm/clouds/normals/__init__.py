"""Normals of points: neighbourhoods, estimation, orientation."""
