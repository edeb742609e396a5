// Bytes of files, where each step depends on the one before.
#include "binding.hpp"
#include "files/lists.hpp"
#include "files/lzf.hpp"

namespace seminorm {
namespace {
using Bytes = In<Byte, 1>;

nb::tuple walk(Bytes data, i64 start, In<i64, 1> count_size, In<i64, 1> item_size, bool little, Out<i64, 2> offsets,
               Out<i64, 2> counts) {
    const i64 entries = length(count_size);
    need(length(item_size) == entries, "count_size and item_size must have one entry for each property");
    need(length(offsets, 1) == entries && length(counts, 1) == entries && length(offsets) == length(counts),
         "offsets and counts must be (rows, properties)");
    need(start >= 0, "start must not be negative");
    need_range(count_size, 0, 9, "count_size");
    need_range(item_size, 1, i64(1) << 31, "item_size");
    Walked walked;
    {
        nb::gil_scoped_release release;
        const ListRows rows{data.data(), length(data), count_size.data(), item_size.data(), entries, little};
        walked = walk_rows(rows, start, length(offsets), offsets.data(), counts.data());
    }
    return nb::make_tuple(walked.rows, walked.end);
}

i64 decompress(Bytes packed, Out<Byte, 1> unpacked) {
    nb::gil_scoped_release release;
    return decompress_lzf(packed.data(), length(packed), unpacked.data(), length(unpacked));
}
}  // namespace

void bind_files(nb::module_& m) {
    m.def("walk_rows", &walk, array("data"), nb::arg("start"), array("count_size"), array("item_size"),
          nb::arg("little"), array("offsets"), array("counts"),
          "Find the entries of rows with lists; returns how many rows are complete, and where they end.");
    m.def("decompress_lzf", &decompress, array("packed"), array("unpacked"),
          "Unpack an LZF stream; returns the number of bytes written, -1 for damage.");
}
}  // namespace seminorm
