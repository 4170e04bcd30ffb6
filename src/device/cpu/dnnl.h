#pragma once
#include "device/kernels.h"

/// Dense products by oneDNN (2.6 or 3.x). No other file of the project names the library, but cpu/isa.cpp.
namespace gesso::cpu {

void linear(const Tensor& x, const Weight& w, const Weight& bias, const Epilogue& e, Tensor& y);
void conv2d(const Tensor& x, const Weight& w, const Weight& bias, const Conv2d& c, const Epilogue& e, Tensor& y);

}  // namespace gesso::cpu
