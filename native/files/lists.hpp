// Binary rows that hold lists: where each entry stands depends on the lengths of all lists before it.
//
// Entry p of a row is a single number (count_size[p] = 0) or a list: count_size[p] bytes of its length, then so many
// numbers of item_size[p] bytes. offsets and counts (rows, entries): the first byte and the length of each.
#pragma once

#include "basics.hpp"

namespace seminorm {
using Byte = unsigned char;

struct ListRows {
    const Byte* data;
    i64 size;
    const i64 *count_size, *item_size;
    i64 entries;
    bool little;  // the byte order of lengths
};

struct Walked {
    i64 rows, end;  // rows that are complete, and the byte after them
};

// An unsigned number of `bytes` bytes, 8 at most.
inline unsigned long long whole_number(const Byte* at, i64 bytes, bool little) {
    unsigned long long number = 0;
    for (i64 k = 0; k < bytes; ++k) number = number << 8 | at[little ? bytes - 1 - k : k];
    return number;
}

inline Walked walk_rows(const ListRows& from, i64 start, i64 rows, i64* offsets, i64* counts) {
    i64 position = start;
    for (i64 row = 0; row < rows; ++row) {
        i64 here = position;
        for (i64 p = 0; p < from.entries; ++p) {
            unsigned long long count = 1;
            if (const i64 bytes = from.count_size[p]; bytes > 0) {
                if (bytes > from.size - here) return {row, position};
                count = whole_number(from.data + here, bytes, from.little);
                here += bytes;
            }
            if (here > from.size || count > static_cast<unsigned long long>((from.size - here) / from.item_size[p]))
                return {row, position};
            offsets[row * from.entries + p] = here;
            counts[row * from.entries + p] = static_cast<i64>(count);
            here += static_cast<i64>(count) * from.item_size[p];
        }
        position = here;
    }
    return {rows, position};
}
}  // namespace seminorm
