#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/family.h"
#include "models/latent_diffusion.h"
#include "models/recognise.h"
#include "pipeline/latent_codec.h"
#include "pipeline/request_fields.h"

namespace gesso {

/// An opened file and what it holds.
struct ModelFile {
  const Field* field;  ///< of the request, that named it; null: none did
  std::shared_ptr<const TensorFile> file;
  Recognition recognition;
  std::map<std::string, std::string> metadata;  ///< of the file, and of a config.json beside it, which goes first
};

/// Opens a file, a shard index or a folder and recognises it. A diffusers folder (with unet/, vae/, text_encoder/ ...)
/// gives a ModelFile for each of its components. Throws as open_tensor_files does.
std::vector<ModelFile> open_model_files(const Field* field, const std::filesystem::path& path);

/// One file that is already open.
ModelFile recognise_file(std::shared_ptr<const TensorFile> file);

/// The weights of a component under the names that its network uses.
std::unique_ptr<WeightStore> bind_weights(const ModelFile& file, const Component& component);
/// "CLIP CLIP-L text encoder, KL autoencoder (VAE)", or "nothing that this version knows".
std::string contents_of(const Recognition& recognition);
/// Adds a sentence about tensors that nothing explains, if there are any.
void report_unknown(const ModelFile& file, std::vector<std::string>& messages);

/// The paths of a request's model files, empty where none is given, with the fields that name them. Later ones go
/// before earlier ones.
std::vector<std::pair<const Field*, std::string>> model_paths(const Request& request);

/// A model built from the files of a request.
struct LoadedModel {
  const Family* family = nullptr;
  std::string variant;
  std::string name;  ///< of the file with the diffusion model, without folder and ending
  std::unique_ptr<LatentDiffusion> model;
  std::unique_ptr<TinyPart> tiny;  ///< asked for with `taesd`, or in the model's file where that has no VAE; or null
  std::shared_ptr<const LatentProjection> projection;  ///< fitted to its decoder for previews, once it was needed
  std::vector<std::string> messages;  ///< what the user should know: tensors that nothing explains, and the like
};

/// Finds the components that the request's files hold, and builds the model. A file given for one component goes before
/// the same component of `model`. Throws: kUsage when no file is named; kNotFound listing components that are missing
/// and the options that give them; kUnsupported for a family that this version cannot run; kBadFile.
LoadedModel load_model(const Request& request);

/// The same of one file that is already open.
LoadedModel load_model(std::shared_ptr<const TensorFile> file);

/// What makes pictures of the request's latents: the tiny autoencoder that it names, unless for previews alone, or else
/// the model's own, in the tiles it asks for. `request` is resolved. Throws kNotFound when there is none.
LatentCodec picture_codec(const LoadedModel& loaded, const Request& request);

}  // namespace gesso
