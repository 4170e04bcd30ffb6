#include "models/latent_projection.h"

namespace gesso {

const LatentProjection& kl_f8_projection() {
  static const LatentProjection projection{{{0.3512f, 0.2297f, 0.3227f},
                                            {0.3250f, 0.4974f, 0.2350f},
                                            {-0.2829f, 0.1762f, 0.2721f},
                                            {-0.2120f, -0.2616f, -0.7177f}},
                                           {}};
  return projection;
}

const LatentProjection& kl_f8_xl_projection() {
  static const LatentProjection projection{{{0.3651f, 0.4232f, 0.4341f},
                                            {-0.2533f, -0.0042f, 0.1068f},
                                            {0.1076f, 0.1111f, -0.0362f},
                                            {-0.3165f, -0.2492f, -0.2188f}},
                                           {0.1084f, -0.0175f, -0.0011f}};
  return projection;
}

const LatentProjection& kl_f8_16_projection() {
  static const LatentProjection projection{{{-0.0922f, -0.0175f, 0.0749f},
                                            {0.0311f, 0.0633f, 0.0954f},
                                            {0.1994f, 0.0927f, 0.0458f},
                                            {0.0856f, 0.0339f, 0.0902f},
                                            {0.0587f, 0.0272f, -0.0496f},
                                            {-0.0006f, 0.1104f, 0.0309f},
                                            {0.0978f, 0.0306f, 0.0427f},
                                            {-0.0042f, 0.1038f, 0.1358f},
                                            {-0.0194f, 0.0020f, 0.0669f},
                                            {-0.0488f, 0.0130f, -0.0268f},
                                            {0.0922f, 0.0988f, 0.0951f},
                                            {-0.0278f, 0.0524f, -0.0542f},
                                            {0.0332f, 0.0456f, 0.0895f},
                                            {-0.0069f, -0.0030f, -0.0810f},
                                            {-0.0596f, -0.0465f, -0.0293f},
                                            {-0.1448f, -0.1463f, -0.1189f}},
                                           {0.2394f, 0.2135f, 0.1925f}};
  return projection;
}

const LatentProjection& kl_f8_16_b_projection() {
  static const LatentProjection projection{{{-0.0346f, 0.0244f, 0.0681f},
                                            {0.0034f, 0.0210f, 0.0687f},
                                            {0.0275f, -0.0668f, -0.0433f},
                                            {-0.0174f, 0.0160f, 0.0617f},
                                            {0.0859f, 0.0721f, 0.0329f},
                                            {0.0004f, 0.0383f, 0.0115f},
                                            {0.0405f, 0.0861f, 0.0915f},
                                            {-0.0236f, -0.0185f, -0.0259f},
                                            {-0.0245f, 0.0250f, 0.1180f},
                                            {0.1008f, 0.0755f, -0.0421f},
                                            {-0.0515f, 0.0201f, 0.0011f},
                                            {0.0428f, -0.0012f, -0.0036f},
                                            {0.0817f, 0.0765f, 0.0749f},
                                            {-0.1264f, -0.0522f, -0.1103f},
                                            {-0.0280f, -0.0881f, -0.0499f},
                                            {-0.1262f, -0.0982f, -0.0778f}},
                                           {-0.0329f, -0.0718f, -0.0851f}};
  return projection;
}

}  // namespace gesso
