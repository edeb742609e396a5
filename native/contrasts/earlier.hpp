// The nearest points among those that come before a point in a list.
//
// A k-d tree whose nodes hold their first point: node [begin, end) has the smallest number of its points at `begin`,
// and the others in the halves [begin + 1, middle) and [middle, end). What a query passes by is therefore of use to it,
// or comes later together with all that lies below.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "basics.hpp"

namespace seminorm {
template <int Dimension> class EarlierNeighbors {
  public:
    // points (n, Dimension), in the order of the list
    EarlierNeighbors(const double* points, i64 n) : points_(points), number_(n), middle_(n), boxes_(n) {
        std::iota(number_.begin(), number_.end(), i32(0));
        build(0, n);
        places_.resize(size_t(n) * Dimension);
        for (i64 k = 0; k < n; ++k)
            for (int c = 0; c < Dimension; ++c) places_[size_t(k * Dimension + c)] = point(number_[size_t(k)])[c];
    }

    // For the points at positions begin .. end - 1 of the tree: their nearest earlier points, nearest first (ties: the
    // earlier one), in the rows of neighbors (n, m) that belong to them; -1 where there are fewer.
    void find(i64 m, i32* neighbors, i64 begin, i64 end) const {
        std::vector<Candidate> heap;
        std::vector<Waiting> stack;
        for (i64 k = begin; k < end; ++k) {
            const i32 query = number_[size_t(k)];
            search(query, m, heap, stack);
            std::sort_heap(heap.begin(), heap.end());
            i32* row = neighbors + query * m;
            for (i64 j = 0; j < m; ++j) row[j] = j < i64(heap.size()) ? heap[size_t(j)].number : -1;
        }
    }

  private:
    struct Candidate {
        double square;
        i32 number;
        bool operator<(const Candidate& other) const {
            return square < other.square || (square == other.square && number < other.number);
        }
    };
    struct Waiting {
        double square;
        i64 begin, end;
    };
    struct Box {
        double low[Dimension], high[Dimension];
    };

    const double* point(i64 number) const { return points_ + number * Dimension; }

    void build(i64 begin, i64 end) {
        if (begin >= end) return;
        Box& box = boxes_[size_t(begin)];
        i64 first = begin;
        for (int c = 0; c < Dimension; ++c) box.low[c] = box.high[c] = point(number_[size_t(begin)])[c];
        for (i64 k = begin + 1; k < end; ++k) {
            const double* here = point(number_[size_t(k)]);
            for (int c = 0; c < Dimension; ++c) {
                box.low[c] = std::min(box.low[c], here[c]);
                box.high[c] = std::max(box.high[c], here[c]);
            }
            if (number_[size_t(k)] < number_[size_t(first)]) first = k;
        }
        std::swap(number_[size_t(begin)], number_[size_t(first)]);
        int axis = 0;
        for (int c = 1; c < Dimension; ++c)
            if (box.high[c] - box.low[c] > box.high[axis] - box.low[axis]) axis = c;
        const i64 middle = begin + 1 + (end - begin - 1) / 2;
        middle_[size_t(begin)] = middle;
        const auto numbers = number_.begin();
        if (middle < end)
            std::nth_element(numbers + begin + 1, numbers + middle, numbers + end, [&](i32 a, i32 b) {
                const double x = point(a)[axis], y = point(b)[axis];
                return x < y || (x == y && a < b);
            });
        build(begin + 1, middle);
        build(middle, end);
    }

    double distance_to_box(i64 node, const double* query) const {
        const Box& box = boxes_[size_t(node)];
        double total = 0.0;
        for (int c = 0; c < Dimension; ++c) {
            const double outside = std::max(std::max(box.low[c] - query[c], query[c] - box.high[c]), 0.0);
            total += outside * outside;
        }
        return total;
    }

    void search(i32 query, i64 m, std::vector<Candidate>& heap, std::vector<Waiting>& stack) const {
        const double* here = point(query);
        heap.clear();
        stack.clear();
        Waiting root{0.0, 0, i64(number_.size())};
        if (worth(root, query, here)) stack.push_back(root);
        while (!stack.empty()) {
            const Waiting node = stack.back();
            stack.pop_back();
            if (i64(heap.size()) == m && node.square > heap.front().square) continue;
            offer(node.begin, here, m, heap);
            const i64 middle = middle_[size_t(node.begin)];
            Waiting near{0.0, node.begin + 1, middle}, far{0.0, middle, node.end};
            const bool left = worth(near, query, here), right = worth(far, query, here);
            if (left && right && far.square < near.square) std::swap(near, far);
            if (left && right) {
                stack.push_back(far);
                stack.push_back(near);
            } else if (left || right) {
                stack.push_back(left ? near : far);
            }
        }
    }

    // Whether a node has earlier points; notes its distance.
    bool worth(Waiting& node, i32 query, const double* here) const {
        if (node.begin >= node.end || number_[size_t(node.begin)] >= query) return false;
        node.square = distance_to_box(node.begin, here);
        return true;
    }

    void offer(i64 k, const double* here, i64 m, std::vector<Candidate>& heap) const {
        const double* there = places_.data() + k * Dimension;
        double square = 0.0;
        for (int c = 0; c < Dimension; ++c) square += (there[c] - here[c]) * (there[c] - here[c]);
        const Candidate candidate{square, number_[size_t(k)]};
        if (i64(heap.size()) == m) {
            if (!(candidate < heap.front())) return;
            std::pop_heap(heap.begin(), heap.end());
            heap.back() = candidate;
        } else {
            heap.push_back(candidate);
        }
        std::push_heap(heap.begin(), heap.end());
    }

    const double* points_;
    std::vector<i32> number_;
    std::vector<i64> middle_;
    std::vector<Box> boxes_;
    std::vector<double> places_;
};
}  // namespace seminorm
