#pragma once

namespace gesso {

// Flow models are trained on times of [0, 1], and work with a sigma that is the time shifted towards noise, because a
// picture of more pixels keeps its shape under more noise (Esser et al. 2024, section 5.3.2).

/// `shift` t / (1 + (shift - 1) t): a time of [0, 1] to a sigma of [0, 1]. shift is above 0; 1 leaves t as it is.
double shifted(double shift, double time);
/// The time of a sigma.
double unshifted(double shift, double sigma);

/// The shift that a mu stands for in the models that give it as an exponent: exp(mu).
double shift_of_mu(double mu);

/// mu on a straight line through `base_shift` at 256 tokens and `max_shift` at 4096 tokens of the picture.
double mu_for_tokens(int tokens, double base_shift = 0.5, double max_shift = 1.15);

/// mu fitted to tokens and steps: straight lines in the number of tokens for 10 and for 200 steps, and between them a
/// straight line in the number of steps; above 4300 tokens the line of 200 steps for any number.
double mu_for_tokens_and_steps(int tokens, int steps);

}  // namespace gesso
