#pragma once
#include "models/names/network.h"

namespace gesso {

/// The tiny autoencoders by madebyollin with four levels (TAESD, TAESDXL, TAESD3, TAEF1), whole or one half of them.
/// Our names say where in the network a layer is ("decoder.level.0.block.2.conv.1.weight"); other tools number the
/// layers of a side: madebyollin's files hold one side each ("3.conv.0.weight"), others both under "decoder." or
/// "taesd_decoder.", and diffusers' AutoencoderTiny has "decoder.layers.2.conv.0.weight".
const Network& tiny_vae_network();

}  // namespace gesso
