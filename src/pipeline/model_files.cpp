#include "pipeline/model_files.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "io/shards.h"
#include "models/output_names.h"
#include "pipeline/diffusers_folder.h"
#include "pipeline/scalings.h"
#include "pipeline/tiling.h"

namespace gesso {
namespace {

struct Source {
  const ModelFile* file = nullptr;
  const Component* component = nullptr;
};

ModelFile recognised(const Field* field, std::shared_ptr<const TensorFile> file,
                     const std::map<std::string, std::string>& beside) {
  std::map<std::string, std::string> metadata = beside;
  metadata.insert(file->metadata().begin(), file->metadata().end());
  Recognition recognition = recognise(file->tensors(), metadata);
  return {field, std::move(file), std::move(recognition), std::move(metadata)};
}

std::string join(const std::vector<std::string>& items, const char* separator) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : separator) + item;
  return text;
}

/// How the numbers of each tensor that is not plain become values, by its index.
std::map<size_t, std::shared_ptr<const Scaling>> scalings(const ModelFile& file, const Component& component) {
  std::set<size_t> wanted;
  for (const PlacedTensor& placed : component.tensors) wanted.insert(placed.tensor_index);
  return read_scalings(file, [&](size_t weight) { return wanted.contains(weight); });
}

std::unique_ptr<WeightStore> bind(const Source& source) {
  return bind_weights(*source.file, *source.component);
}

std::map<Role, Source> choose(const std::vector<ModelFile>& files) {
  std::map<Role, Source> chosen;
  for (const ModelFile& file : files) {
    const std::optional<Role> wanted = file.field ? file.field->component : std::nullopt;
    for (const Component& component : file.recognition.components)
      if (!wanted || component.role == *wanted) chosen[component.role] = {&file, &component};
    if (wanted && !file.recognition.find(*wanted))
      fail(ErrorCode::kUsage, "{}: wanted the {}, but {} holds {}", option_of(*wanted), title_of(*wanted),
           quoted(file.file->path()), contents_of(file.recognition));
  }
  return chosen;
}

void expect_supported(const std::vector<ModelFile>& files, const std::map<Role, Source>& chosen) {
  const auto found = chosen.find(Role::kDiffusionModel);
  if (found == chosen.end()) {
    std::vector<std::string> lines;
    for (const ModelFile& file : files)
      lines.push_back(quoted(file.file->path()) + " holds " + contents_of(file.recognition));
    fail(ErrorCode::kNotFound, "no diffusion model among the files: {}; `gesso inspect FILE` tells more",
         join(lines, "; "));
  }
  const Component& component = *found->second.component;
  if (!component.supported || !component.family->make)
    fail(ErrorCode::kUnsupported, "{} is a {}{}{} model, which this version cannot run yet",
         quoted(found->second.file->file->path()), component.family->title, component.variant.empty() ? "" : " ",
         component.variant);
}

void expect_complete(const Family& family, const std::map<Role, Source>& chosen) {
  std::vector<std::string> missing;
  const auto replaced = [&](Role role) { return role == Role::kVae && chosen.contains(Role::kTinyVae); };
  for (const Role role : family.needs)
    if (!chosen.contains(role) && !replaced(role))
      missing.push_back(std::string(title_of(role)) +
                        (option_of(role).empty() ? "" : fmt::format(" ({} FILE)", option_of(role))));
  if (!missing.empty())
    fail(ErrorCode::kNotFound, "{} needs files that were not given: {}", family.title, join(missing, ", "));
  for (const auto& [role, source] : chosen)
    if (source.component->complete == false)
      fail(ErrorCode::kBadFile, "the {} in {} is incomplete: it lacks {}", title_of(role),
           quoted(source.file->file->path()), join(source.component->missing, ", "));
}

/// The tiny autoencoder, if one was asked for or there is no other.
std::unique_ptr<TinyPart> tiny_of(const std::map<Role, Source>& chosen, const LatentFormat& format) {
  const auto found = chosen.find(Role::kTinyVae);
  if (found == chosen.end()) return nullptr;
  const Source& source = found->second;
  const bool asked = source.file->field && source.file->field->component == Role::kTinyVae;
  if (!asked && chosen.contains(Role::kVae)) return nullptr;
  if (!source.component->supported)
    fail(ErrorCode::kUnsupported, "{} is a tiny autoencoder of a kind that this version cannot run: {} takes {}",
         quoted(source.file->file->path()), option_of(Role::kTinyVae), "TAESD, TAESDXL, TAESD3 and TAEF1");
  return std::make_unique<TinyPart>(bind(source), format);
}

LoadedModel build(const std::vector<ModelFile>& files) {
  const std::map<Role, Source> chosen = choose(files);
  expect_supported(files, chosen);
  const Source& main = chosen.at(Role::kDiffusionModel);
  const Family& family = *main.component->family;
  expect_complete(family, chosen);

  LoadedModel loaded{
      &family, main.component->variant, main.file->file->path().stem().string(), nullptr, nullptr, nullptr, {}};
  Components components;
  components.emplace(std::string(to_string(Role::kDiffusionModel)), bind(main));
  for (const auto* roles : {&family.needs, &family.optional})
    for (const Role role : *roles)
      if (const auto found = chosen.find(role); found != chosen.end())
        components.emplace(std::string(to_string(role)), bind(found->second));
  loaded.model = family.make(std::move(components));
  loaded.tiny = tiny_of(chosen, loaded.model->latent_format());
  loaded.messages = loaded.model->notices();
  for (const ModelFile& file : files) report_unknown(file, loaded.messages);
  if (const auto unused = loaded.model->denoiser_weights().unused(); !unused.empty())
    loaded.messages.push_back(fmt::format("{} tensors of the diffusion model are not used: {}{}", unused.size(),
                                          unused.front(), unused.size() > 1 ? ", ..." : ""));
  return loaded;
}

}  // namespace

ModelFile recognise_file(std::shared_ptr<const TensorFile> file) {
  return recognised(nullptr, std::move(file), {});
}

std::string contents_of(const Recognition& recognition) {
  std::vector<std::string> items;
  for (const Component& c : recognition.components)
    items.push_back(std::string(c.family->title) + " " + std::string(title_of(c.role)));
  return items.empty() ? "nothing that this version knows" : join(items, ", ");
}

std::unique_ptr<WeightStore> bind_weights(const ModelFile& file, const Component& component) {
  const auto scaling = scalings(file, component);
  auto store = std::make_unique<WeightStore>(std::string(title_of(component.role)));
  store->set_file_prefix(file_prefix(component.role));
  for (const PlacedTensor& placed : component.tensors) {
    const Placement& p = placed.placement;
    const auto scaled = scaling.find(placed.tensor_index);
    store->bind(p.name, {file.file, placed.tensor_index, p.part, p.parts, p.transpose, p.span,
                         scaled == scaling.end() ? nullptr : scaled->second});
  }
  for (const auto& [key, value] : file.metadata) store->set_metadata(key, value);
  for (const std::string& marker : file.recognition.markers) store->set_metadata("marker." + marker, "1");
  return store;
}

void report_unknown(const ModelFile& file, std::vector<std::string>& messages) {
  const auto& unknown = file.recognition.unknown;
  if (unknown.empty()) return;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min<size_t>(3, unknown.size()); ++i)
    names.push_back(file.file->tensors()[unknown[i]].name);
  messages.push_back(fmt::format("{} of {} tensors of {} belong to nothing known and are not used: {}{}",
                                 unknown.size(), file.file->tensors().size(), quoted(file.file->path()),
                                 join(names, ", "), unknown.size() > 3 ? ", ..." : ""));
}

std::vector<std::pair<const Field*, std::string>> model_paths(const Request& request) {
  std::vector<std::pair<const Field*, std::string>> paths;
  for (const Field& field : request_fields())
    if (field.role == FieldRole::kFile)
      paths.emplace_back(&field, request.*std::get<std::string Request::*>(field.member));
  return paths;
}

std::vector<ModelFile> open_model_files(const Field* field, const std::filesystem::path& path) {
  std::vector<ModelFile> files;
  if (is_diffusers_folder(path)) {
    for (DiffusersPart& part : open_diffusers_folder(path))
      files.push_back(recognised(field, std::move(part.file), part.metadata));
    return files;
  }
  files.push_back(recognised(field, open_tensor_files(path), {}));
  return files;
}

LoadedModel load_model(const Request& request) {
  std::vector<ModelFile> files;
  for (const auto& [field, path] : model_paths(request))
    if (!path.empty())
      for (ModelFile& file : open_model_files(field, path)) files.push_back(std::move(file));
  if (files.empty()) fail(ErrorCode::kUsage, "no model was named: give one with -m FILE");
  return build(files);
}

LoadedModel load_model(std::shared_ptr<const TensorFile> file) {
  std::vector<ModelFile> files;
  files.push_back(recognise_file(std::move(file)));
  return build(files);
}

LatentCodec picture_codec(const LoadedModel& loaded, const Request& request) {
  const int scale = loaded.model->latent_format().scale;
  const Tiling tiling = tiling_of(request, *request.width / scale, *request.height / scale);
  if (loaded.tiny && !request.taesd_preview_only) return LatentCodec(*loaded.model, loaded.tiny.get(), tiling);
  if (!loaded.model->decoder_weights())
    fail(ErrorCode::kNotFound,
         "{} needs its autoencoder (--vae FILE), since --taesd-preview-only leaves the tiny one to previews",
         loaded.family->title);
  return LatentCodec(*loaded.model, nullptr, tiling);
}

}  // namespace gesso
