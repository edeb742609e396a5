"""What ``seminorm reconstruct`` tells of its work."""

from __future__ import annotations

import argparse

from .reporting import as_size, as_word, table


def collect(arguments: argparse.Namespace, surface, mesh, dropped: dict) -> dict:
    """What was read and chosen, and what came out; the mesh is None if there is none."""
    details = surface.details
    stats = {
        "inputs": [str(path) for path in arguments.points],
        "output": str(arguments.output),
        "points": len(surface.points),
        "dropped": dropped,
        **{name: details[name] for name in ("normals", "order", "depth", "smoothness", "normal_weight")},
        "resolution": surface.resolution,
        "coefficients": surface.field.n_coef,
    }
    if mesh is not None:
        stats |= {"vertices": len(mesh.vertices), "faces": len(mesh.faces), "watertight": mesh.is_watertight}
    return stats


def in_table(stats: dict) -> str:
    """Times and memory first, a line each."""
    rows = [(f"{stage}, seconds", f"{seconds:.2f}") for stage, seconds in stats["seconds"].items()]
    rows.append(("peak memory", as_size(stats["peak_memory"])))
    for name, value in stats.items():
        if name not in ("seconds", "peak_memory", "inputs", "output", "dropped"):
            rows.append((name.replace("_", " "), as_word(value)))
    rows += [(f"dropped, {reason}", str(count)) for reason, count in stats["dropped"].items() if count]
    return table(rows)


def in_one_line(stats: dict) -> str:
    """The file that was written, and what matters most."""
    parts = [
        f"{stats['points']} points",
        *([] if stats["normals"] == "given" else ["normals estimated"]),
        f"depth {stats['depth']}",
        f"smoothness {stats['smoothness']:.3g}",
        f"normal weight {stats['normal_weight']:.3g}",
    ]
    if "faces" in stats:
        parts += [f"{stats['vertices']} vertices", f"{stats['faces']} faces"]
        parts.append("watertight" if stats["watertight"] else "not watertight")
    else:
        parts.append(f"{stats['coefficients']} coefficients")
    parts += [f"{stats['seconds']['total']:.1f} s", as_size(stats["peak_memory"])]
    return f"{stats['output']}: {', '.join(parts)}"
