// The connected components of a mesh, by union and find.
//
// faces (f, 3); labels (v,): while it works, the parent of each vertex, which never has a larger number; in the end the
// number of its component, in the order of their first vertices. A vertex without faces is a component of its own.
#pragma once

#include "basics.hpp"

namespace seminorm {
template <class Label> Label root_of(Label* parent, Label v) {
    while (parent[v] != v) {
        parent[v] = parent[parent[v]];
        v = parent[v];
    }
    return v;
}

// Returns the number of components.
template <class Index, class Label>
i64 connected_labels(const Index* faces, i64 n_faces, Label* labels, i64 n_vertices) {
    for (i64 v = 0; v < n_vertices; ++v) labels[v] = static_cast<Label>(v);
    for (i64 f = 0; f < n_faces; ++f) {
        Label a = root_of(labels, static_cast<Label>(faces[3 * f]));
        for (int corner = 1; corner < 3; ++corner) {
            const Label b = root_of(labels, static_cast<Label>(faces[3 * f + corner]));
            if (b < a) {
                labels[a] = b;
                a = b;
            } else {
                labels[b] = a;
            }
        }
    }
    // a root is the smallest vertex of its component, so parents come before their children
    Label count = 0;
    for (i64 v = 0; v < n_vertices; ++v) labels[v] = labels[v] == v ? count++ : labels[labels[v]];
    return count;
}
}  // namespace seminorm
