#include "sampling/brownian_tree.h"

#include <gtest/gtest.h>

#include "sampling/helpers.h"

namespace gesso {
namespace {

TEST(SeedSequence, EqualsNumpy) {
  // numpy.random.SeedSequence(entropy, spawn_key=..., pool_size=24).generate_state(4)
  EXPECT_EQ(seed_sequence(42, {}, 4), (std::vector<uint32_t>{387750627u, 2536650517u, 4078839648u, 2023786165u}));
  EXPECT_EQ(seed_sequence((uint64_t{1} << 40) + 7, {(uint64_t{1} << 33) + 1, 12}, 4),
            (std::vector<uint32_t>{2959256398u, 4237290099u, 1237711926u, 952430714u}));
}

TEST(BrownianTree, PathDoesNotDependOnTheStepsTaken) {
  const Latent like = zero_latent(4, 2, 2);
  BrownianTree coarse(like, 0.03, 14.6, 5), fine(like, 0.03, 14.6, 5);
  const Latent whole = scaled(std::sqrt(10.0 - 2.0), coarse.between(10, 2));
  const Latent parts = sum_of({{std::sqrt(3.0), fine.between(10, 7)}, {std::sqrt(5.0), fine.between(7, 2)}});
  expect_close(parts.values, whole.values, 1e-5);
}

TEST(BrownianTree, IsFiniteAtItsEndsAndOutsideOfThem) {
  BrownianTree tree(zero_latent(1, 2, 2), 1, 2, 0);
  for (const auto& [from, to] : {std::pair{2.0, 1.0}, {3.0, 0.5}, {1.5, 1.5}, {1.0, 1.0000001}, {1e30, 0.0}})
    EXPECT_TRUE(all_finite(tree.between(from, to))) << from << " " << to;
}

}  // namespace
}  // namespace gesso
