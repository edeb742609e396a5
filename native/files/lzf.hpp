// LZF streams: bytes as they are, and repetitions of what was written before.
//
// A control byte c < 32 is followed by c + 1 bytes to copy. Otherwise c >> 5 (7: plus the next byte) plus 2 bytes are
// repeated from (c & 31) * 256 + next byte + 1 before the end of what is written; the two may overlap.
#pragma once

#include "basics.hpp"

namespace seminorm {
// Returns the number of bytes written, -1 for damage.
inline i64 decompress_lzf(const unsigned char* packed, i64 packed_size, unsigned char* unpacked, i64 size) {
    i64 i = 0, o = 0;
    while (i < packed_size) {
        const i64 control = packed[i++];
        i64 length = control + 1;
        if (control < 32) {
            if (length > packed_size - i || length > size - o) return -1;
            for (i64 k = 0; k < length; ++k) unpacked[o + k] = packed[i + k];
            i += length;
        } else {
            length = (control >> 5) + 2;
            if (length == 9) {
                if (i >= packed_size) return -1;
                length += packed[i++];
            }
            if (i >= packed_size) return -1;
            const i64 source = o - ((control & 31) << 8) - packed[i++] - 1;
            if (source < 0 || length > size - o) return -1;
            for (i64 k = 0; k < length; ++k) unpacked[o + k] = unpacked[source + k];
        }
        o += length;
    }
    return o;
}
}  // namespace seminorm
