#include "models/recognise.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>

#include "models/names/adapter.h"
#include "models/names/ignorable.h"
#include "models/names/prefixes.h"
#include "models/registry.h"

namespace gesso {
namespace {

/// The tensors of a file under one prefix in the names of a network.
struct View {
  std::string scheme;
  Names names;
  std::map<size_t, std::vector<Placement>> placements;  ///< of each tensor; empty for raw names
};

bool begins_with_any(std::string_view text, const std::vector<std::string_view>& prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return text.starts_with(p); });
}

/// Whether `name` is `stem` or lies below it. Stems are patterns; see Kind::owns.
bool lies_below(std::string_view stem, std::string_view name) {
  if (stem.ends_with('*')) return match_prefix(stem.substr(0, stem.size() - 1), name).has_value();
  const auto covered = match_prefix(stem, name);
  return covered && (*covered == name.size() || name[*covered] == '.');
}

int64_t add_saturating(int64_t a, int64_t b) {
  return a > std::numeric_limits<int64_t>::max() - b ? std::numeric_limits<int64_t>::max() : a + b;
}

class Recogniser {
 public:
  Recogniser(std::span<const TensorInfo> tensors, const std::map<std::string, std::string>& metadata)
      : tensors_(tensors), metadata_(metadata), taken_(tensors.size(), false) {}

  Recognition run() {
    ignore([](std::string_view name) { return find_copy(name); });
    ignore_unaveraged();
    find_companions();
    find_prefixes();
    for (const Family* family : families())
      for (const Kind& kind : family->kinds)
        if (kind.role != Role::kLora)
          for (const std::string& prefix : prefixes_) try_kind(*family, kind, prefix);
    find_adapter();
    ignore([](std::string_view name) { return find_ignorable(name); });
    count_scaled();
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (!taken_[i]) result_.unknown.push_back(i);
    if (result_.components.empty()) find_nearest();
    return std::move(result_);
  }

 private:
  void take(size_t tensor) { taken_[tensor] = true; }

  template <typename Find>
  void ignore(const Find& find) {
    std::set<std::string> markers(result_.markers.begin(), result_.markers.end());
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (taken_[i]) continue;
      const Ignorable* ignorable = find(tensors_[i].name);
      if (!ignorable) continue;
      take(i);
      result_.ignored.push_back({i, std::string(ignorable->reason)});
      if (!ignorable->marker.empty()) markers.emplace(ignorable->marker);
    }
    result_.markers.assign(markers.begin(), markers.end());
  }

  /// Upscalers come with both the last and the averaged weights of their training; the averaged ones are meant.
  void ignore_unaveraged() {
    const auto averaged = [](const TensorInfo& t) { return t.name.starts_with("params_ema."); };
    if (std::ranges::none_of(tensors_, averaged)) return;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (taken_[i] || !tensors_[i].name.starts_with("params.")) continue;
      take(i);
      result_.ignored.push_back(
          {i, "the last weights of a training run; the averaged ones under params_ema. are used"});
    }
  }

  /// Scales and the like go where their weight goes: no kind of component is told by them.
  void find_companions() {
    std::map<std::string_view, size_t> by_name;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (!taken_[i]) by_name.emplace(tensors_[i].name, i);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (taken_[i]) continue;
      const auto name = parse_companion_name(tensors_[i].name);
      if (!name) continue;
      const auto weight = by_name.find(name->weight);
      if (weight == by_name.end()) continue;
      take(i);
      result_.companions.push_back({i, weight->second, name->kind});
    }
  }

  void count_scaled() {
    std::map<size_t, Component*> owners;
    for (Component& component : result_.components)
      for (const PlacedTensor& placed : component.tensors) owners.emplace(placed.tensor_index, &component);
    for (const Companion& companion : result_.companions)
      if (const auto owner = owners.find(companion.weight_index); owner != owners.end())
        owner->second->scaled_count += companion.kind == CompanionKind::kScale;
  }

  void find_prefixes() {
    std::vector<std::string_view> names;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (!taken_[i]) names.push_back(tensors_[i].name);
    prefixes_ = prefixes_of(names);
  }

  /// The tensors under the prefix that nothing has taken yet when first asked; later ones are checked on use.
  const View& raw_view(const std::string& prefix) {
    auto& view = raw_views_[prefix];
    if (!view) {
      std::vector<Names::Entry> entries;
      for (size_t i = 0; i < tensors_.size(); ++i)
        if (!taken_[i] && tensors_[i].name.starts_with(prefix))
          entries.push_back({tensors_[i].name.substr(prefix.size()), tensors_[i].shape, i});
      view = std::make_unique<View>(View{"", Names(std::move(entries)), {}});
    }
    return *view;
  }

  /// The same in the names of the network, or null when they follow none of its namings.
  const View* network_view(const std::string& prefix, const Network& network) {
    auto [at, fresh] = network_views_.try_emplace({prefix, &network});
    if (!fresh) return at->second.get();
    const Names& raw = raw_view(prefix).names;
    for (const Naming& naming : network.namings) {
      if (!std::ranges::all_of(naming.probes, [&](std::string_view p) { return raw.has(p); })) continue;
      at->second = std::make_unique<View>(place_all(naming, raw));
      break;
    }
    return at->second.get();
  }

  static View place_all(const Naming& naming, const Names& raw) {
    const Place place = naming.place(raw);
    std::vector<Names::Entry> entries;
    std::map<size_t, std::vector<Placement>> placements;
    for (const Names::Entry& entry : raw.entries()) {
      std::vector<Placement> placed = place(entry.name);
      for (const Placement& p : placed) entries.push_back({p.name, entry.shape, entry.tensor});
      if (!placed.empty()) placements.emplace(entry.tensor, std::move(placed));
    }
    return {std::string(naming.scheme), Names(std::move(entries)), std::move(placements)};
  }

  /// A probe counts only when its tensor is still free: what an earlier kind took cannot speak for another.
  bool holds(const Names& names, const Probe& probe) const {
    const Names::Entry* entry = names.find(probe);
    return entry && !taken_[entry->tensor];
  }

  bool fits(const Kind& kind, const Names& names) const {
    const auto holds_here = [&](const Probe& p) { return holds(names, p); };
    return std::ranges::all_of(kind.has, holds_here) &&
           (kind.any.empty() || std::ranges::any_of(kind.any, holds_here)) &&
           std::ranges::none_of(kind.lacks, [&](std::string_view name) { return names.has(name); });
  }

  void try_kind(const Family& family, const Kind& kind, const std::string& prefix) {
    if (!kind.under.empty() && !begins_with_any(prefix, kind.under)) return;
    const View* view = kind.network ? network_view(prefix, *kind.network) : &raw_view(prefix);
    if (!view || !fits(kind, view->names)) return;
    Component component = start(family, kind, view->names);
    component.prefix = prefix;
    if (kind.network) {
      component.scheme = view->scheme;
      place_tensors(component, *view);
    } else {
      for (const Names::Entry& entry : view->names.entries())
        if (std::ranges::any_of(kind.owns, [&](std::string_view stem) { return lies_below(stem, entry.name); }))
          add(component, entry.tensor, {{.name = entry.name}});
    }
    finish(std::move(component));
  }

  static Component start(const Family& family, const Kind& kind, const Names& names) {
    Component component;
    component.family = &family;
    component.kind = &kind;
    component.role = kind.role;
    component.scheme = kind.scheme;
    component.supported = kind.supported;
    for (const Variant& variant : kind.variants) {
      if (!std::ranges::all_of(variant.has, [&](const Probe& p) { return names.find(p) != nullptr; })) continue;
      if (std::ranges::any_of(variant.lacks, [&](std::string_view name) { return names.has(name); })) continue;
      component.variant = variant.name;
      component.supported = kind.supported && variant.supported;
      break;
    }
    return component;
  }

  void place_tensors(Component& component, const View& view) {
    std::set<std::string> names;
    for (const auto& [tensor, placements] : view.placements) {
      if (taken_[tensor]) continue;
      const bool again = std::ranges::any_of(placements, [&](const Placement& p) { return names.contains(p.name); });
      if (again) {
        take(tensor);
        result_.ignored.push_back({tensor, "a second tensor for " + placements.front().name});
        continue;
      }
      for (const Placement& p : placements) names.insert(p.name);
      add(component, tensor, placements);
    }
    component.missing = missing_names(*component.kind->network, names);
    component.complete = component.missing.empty();
    if (component.missing.size() > Component::kMaxMissing) component.missing.resize(Component::kMaxMissing);
  }

  void add(Component& component, size_t tensor, const std::vector<Placement>& placements) {
    if (taken_[tensor]) return;
    take(tensor);
    for (const Placement& p : placements) component.tensors.push_back({tensor, p});
    ++component.tensor_count;
    const Shape& shape = tensors_[tensor].shape;
    component.parameters =
        add_saturating(component.parameters,
                       checked_elements({shape.begin(), shape.end()}).value_or(std::numeric_limits<int64_t>::max()));
  }

  void finish(Component component) {
    std::ranges::stable_sort(component.tensors, {}, &PlacedTensor::tensor_index);
    std::map<DType, size_t> dtypes;
    for (size_t i = 0; i < component.tensors.size(); ++i)
      if (i == 0 || component.tensors[i].tensor_index != component.tensors[i - 1].tensor_index)
        ++dtypes[tensors_[component.tensors[i].tensor_index].dtype];
    component.dtypes.assign(dtypes.begin(), dtypes.end());
    result_.components.push_back(std::move(component));
  }

  /// LoRA and its kin: told by suffixes, and what they belong to by the modules they touch.
  void find_adapter() {
    std::vector<Names::Entry> tensors;
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (!taken_[i] && parse_adapter_name(tensors_[i].name))
        tensors.push_back({tensors_[i].name, tensors_[i].shape, i});
    const AdapterModules adapter = read_adapter(tensors);
    if (!adapter.factors) return;
    const auto [family, kind] = adapter_kind(adapter.modules);
    if (!family) return;
    Component component = start(*family, *kind, adapter.modules);
    component.scheme = adapter.scheme;
    component.variant = adapter.method + (adapter.text_encoder ? ", with text encoder" : "");
    for (const Names::Entry& tensor : tensors) add(component, tensor.tensor, {{.name = tensor.name}});
    for (size_t i = 0; i < tensors_.size(); ++i)  // whole parameters beside the factors
      if (std::ranges::any_of(kind->owns, [&](std::string_view stem) { return lies_below(stem, tensors_[i].name); }))
        add(component, i, {{.name = tensors_[i].name}});
    finish(std::move(component));
  }

  std::pair<const Family*, const Kind*> adapter_kind(const Names& modules) const {
    for (const Family* family : families())
      for (const Kind& kind : family->kinds)
        if (kind.role == Role::kLora && fits(kind, modules)) return {family, &kind};
    for (const char* key : {"modelspec.architecture", "ss_base_model_version"}) {
      const auto value = metadata_.find(key);
      if (value == metadata_.end()) continue;
      for (const Family* family : families()) {
        const auto kind = std::ranges::find(family->kinds, Role::kLora, &Kind::role);
        if (kind != family->kinds.end() && begins_with_any(value->second, family->metadata_names))
          return {family, &*kind};
      }
    }
    return {nullptr, nullptr};
  }

  void find_nearest() {
    for (const Family* family : families())
      for (const Kind& kind : family->kinds)
        if (kind.role != Role::kLora && !kind.has.empty())
          for (const std::string& prefix : prefixes_) consider(*family, kind, prefix);
    std::ranges::stable_sort(result_.nearest, [](const Nearest& a, const Nearest& b) {
      return a.matched * b.missing.size() > b.matched * a.missing.size();
    });
    if (result_.nearest.size() > 3) result_.nearest.resize(3);
  }

  void consider(const Family& family, const Kind& kind, const std::string& prefix) {
    if (!kind.under.empty() && !begins_with_any(prefix, kind.under)) return;
    const View* view = kind.network ? network_view(prefix, *kind.network) : &raw_view(prefix);
    if (!view) return;
    Nearest nearest{&family, kind.role, prefix, 0, {}};
    for (const Probe& probe : kind.has) {
      if (view->names.find(probe)) {
        ++nearest.matched;
      } else {
        nearest.missing.emplace_back(probe.name);
      }
    }
    if (nearest.matched > 0 && !nearest.missing.empty()) result_.nearest.push_back(std::move(nearest));
  }

  std::span<const TensorInfo> tensors_;
  const std::map<std::string, std::string>& metadata_;
  std::vector<bool> taken_;
  std::vector<std::string> prefixes_;
  std::map<std::string, std::unique_ptr<View>> raw_views_;
  std::map<std::pair<std::string, const Network*>, std::unique_ptr<View>> network_views_;
  Recognition result_;
};

}  // namespace

const Component* Recognition::find(Role role) const {
  const auto at = std::ranges::find(components, role, &Component::role);
  return at == components.end() ? nullptr : &*at;
}

const Component* Recognition::main() const {
  if (const Component* model = find(Role::kDiffusionModel)) return model;
  return components.empty() ? nullptr : &components.front();
}

Recognition recognise(std::span<const TensorInfo> tensors, const std::map<std::string, std::string>& metadata) {
  return Recogniser(tensors, metadata).run();
}

}  // namespace gesso
