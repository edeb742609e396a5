// Squared distances to planes, summed: the quadrics of Garland and Heckbert (1997).
#pragma once

namespace seminorm {
struct Vector {
    double x, y, z;
    Vector operator-(const Vector& b) const { return {x - b.x, y - b.y, z - b.z}; }
    double dot(const Vector& b) const { return x * b.x + y * b.y + z * b.z; }
    Vector cross(const Vector& b) const { return {y * b.z - z * b.y, z * b.x - x * b.z, x * b.y - y * b.x}; }
};

// x' A x + 2 b' x + c: the weighted sum of squared distances to planes; and the sum of the weights.
struct Quadric {
    double a[6] = {}, b[3] = {}, c = 0, weight = 0;

    // The plane through p with unit normal n.
    void add_plane(const Vector& n, const Vector& p, double w) {
        const double d = -n.dot(p);
        a[0] += w * n.x * n.x, a[1] += w * n.x * n.y, a[2] += w * n.x * n.z;
        a[3] += w * n.y * n.y, a[4] += w * n.y * n.z, a[5] += w * n.z * n.z;
        b[0] += w * n.x * d, b[1] += w * n.y * d, b[2] += w * n.z * d;
        c += w * d * d;
        weight += w;
    }
    void add(const Quadric& other) {
        for (int k = 0; k < 6; ++k) a[k] += other.a[k];
        for (int k = 0; k < 3; ++k) b[k] += other.b[k];
        c += other.c;
        weight += other.weight;
    }
    double at(const Vector& p) const {
        const double x = a[0] * p.x + a[1] * p.y + a[2] * p.z + 2 * b[0];
        const double y = a[1] * p.x + a[3] * p.y + a[4] * p.z + 2 * b[1];
        const double z = a[2] * p.x + a[4] * p.y + a[5] * p.z + 2 * b[2];
        return x * p.x + y * p.y + z * p.z + c;
    }
};
}  // namespace seminorm
