// Pictures filled with triangles and discs.
#include "binding.hpp"
#include "rendering/raster.hpp"

namespace seminorm {
namespace {
constexpr i64 kShapesOfChunk = 1 << 16;  // their corners stay in the cache while one band after another is filled

Picture picture_of(const Out<i64, 2>& owner, const Out<double, 2>& front) {
    need(length(owner) == length(front) && length(owner, 1) == length(front, 1), "owner and front must match");
    need(most(length(owner), length(owner, 1)) < i64(1) << 31, "the picture is too large");
    return {length(owner), length(owner, 1), owner.data(), front.data()};
}

// Every pixel sees the shapes in their order, so the number of bands changes nothing but the time: each looks at all
// shapes, so there are no more of them than the threads need.
template <class Shapes> void fill(const Picture& picture, const Shapes& shapes, i64 count) {
    const i64 bands = thread_count() > 1 ? 2 * thread_count() : 1;
    for (i64 first = 0; first < count; first += kShapesOfChunk) {
        const i64 last = least(first + kShapesOfChunk, count);
        run(picture.height, picture.height / bands + 1, [&](i64 begin, i64 end) {
            for (i64 number = first; number < last; ++number) shapes.fill(picture, number, begin, end);
        });
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
}

void fill_triangles(In<double, 2> pixels, In<double, 1> nearness, In<i64, 2> faces, Out<i64, 2> owner,
                    Out<double, 2> front) {
    need(pixels.shape(1) == 2 && length(nearness) == length(pixels), "pixels must be (n, 2) and nearness (n,)");
    need(faces.shape(1) == 3, "faces must be (m, 3)");
    need_range(faces, 0, length(pixels), "faces");
    fill(picture_of(owner, front), Triangles{pixels.data(), nearness.data(), faces.data()}, length(faces));
}

void fill_discs(In<double, 2> pixels, In<double, 1> depth, double radius, In<double, 1> pixel_radius, Out<i64, 2> owner,
                Out<double, 2> front) {
    need(pixels.shape(1) == 2 && length(depth) == length(pixels) && length(pixel_radius) == length(pixels),
         "pixels must be (n, 2), depth and pixel_radius (n,)");
    const Picture picture = picture_of(owner, front);
    fill(picture, Discs{pixels.data(), depth.data(), pixel_radius.data(), radius}, length(pixels));
}
}  // namespace

void bind_rendering(nb::module_& m) {
    m.def("fill_triangles", &fill_triangles, array("pixels"), array("nearness"), array("faces"), array("owner"),
          array("front"), "Write the number of the nearest face into `owner` at the pixel centres that it covers.");
    m.def("fill_discs", &fill_discs, array("pixels"), array("depth"), nb::arg("radius"), array("pixel_radius"),
          array("owner"), array("front"), "Write the number of the nearest point, drawn as a ball, into `owner`.");
}
}  // namespace seminorm
