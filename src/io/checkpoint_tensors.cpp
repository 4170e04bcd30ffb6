#include "io/checkpoint_tensors.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/unicode.h"
#include "io/checkpoint_storage.h"
#include "io/printable.h"

namespace gesso {
namespace {

using enum PickleKind;
using Id = PickleId;

/// Entries of a training checkpoint that hold the weights; averaged ones first, for they are what is published.
constexpr std::string_view kWrappers[] = {
    "params_ema", "ema_state_dict", "state_dict_ema", "model_ema", "ema", "state_dict", "model_state_dict",
    "params",     "model",          "module",         "generator", "net", "weights",
};

/// Calls that give a dict.
constexpr std::string_view kDicts[] = {"collections.OrderedDict", "collections.defaultdict", "builtins.dict",
                                       "__builtin__.dict"};

/// Modules and functions that run programs or code. No checkpoint has a use for them: a file that calls one is an
/// attack, and saying so serves better than reading on (which would be harmless).
constexpr std::string_view kHostile[] = {
    "os.*",
    "posix.*",
    "nt.*",
    "subprocess.*",
    "sys.*",
    "socket.*",
    "shutil.*",
    "pty.*",
    "commands.*",
    "runpy.*",
    "importlib.*",
    "ctypes.*",
    "webbrowser.*",
    "urllib.*",
    "requests.*",
    "builtins.eval",
    "builtins.exec",
    "builtins.open",
    "builtins.compile",
    "builtins.__import__",
    "__builtin__.eval",
    "__builtin__.exec",
    "__builtin__.execfile",
    "__builtin__.open",
    "__builtin__.compile",
    "__builtin__.__import__",
    "__builtin__.file",
    "pickle.loads",
    "torch.load",
    "torch.hub.*",
};

bool is_hostile(std::string_view global) {
  return std::ranges::any_of(kHostile, [&](std::string_view row) {
    return row.ends_with('*') ? global.starts_with(row.substr(0, row.size() - 1)) : global == row;
  });
}

bool is_utf8(std::string_view text) {
  return valid_utf8(text) == text;
}

/// What persistent ids say of a storage.
class Collector {
 public:
  Collector(const Pickle& pickle, const FindStorage& find_storage, const std::filesystem::path& path)
      : pickle_(pickle), find_storage_(find_storage), path_(path) {
    // Names that dicts inside dicts spell out can be far longer than the pickle; real ones are not.
    budget_ = (size_t{1} << 16) + 16 * pickle.size;
  }

  CheckpointTensors run() {
    refuse_hostile();
    const Id root = choose_root();
    unfold(root, "", 0);
    if (result_.tensors.empty())
      fail(ErrorCode::kBadFile, "{} holds no tensors: expected the weights of a model", quoted(path_));
    check_names();
    note_objects();
    return std::move(result_);
  }

 private:
  const PickleValue& value(Id id) const { return pickle_[id]; }
  static bool valid(Id id) { return id != PickleValue::kNoValue; }

  /// The name of the global that an object would be a call of; empty for other values.
  std::string_view callee(Id id) const {
    const PickleValue& v = value(id);
    if (v.kind != kObject || value(v.first).kind != kGlobal) return {};
    return value(v.first).text;
  }
  const std::vector<Id>& arguments(Id id) const { return value(value(id).second).items; }

  void refuse_hostile() const {
    for (Id id = 0; id < pickle_.values.size(); ++id)
      if (const auto name = callee(id); is_hostile(name))
        fail(ErrorCode::kBadFile,
             "{} asks to call {} when it is loaded, which no model needs: nothing was run; do not use this file",
             quoted(path_), printable(name));
  }

  bool is_dict(Id id) const {
    const PickleValue& v = value(id);
    if (v.kind != kObject) return v.kind == kDict;
    return std::ranges::find(kDicts, callee(id)) != std::end(kDicts) ||
           (!v.items.empty() && v.items.size() % 2 == 0);  // a subclass of dict that had items set on it
  }

  /// Keys and values of a dict, in turn. What it looks at is paid for: many dicts may share one list.
  std::vector<Id> pairs(Id id) {
    const PickleValue& v = value(id);
    std::vector<Id> items;
    if (v.kind == kObject)  // OrderedDict([(key, value), ...]), as Python 2 wrote it
      for (const Id list : arguments(id)) {
        spend(1 + value(list).items.size());
        for (const Id pair : value(list).items)
          if (value(list).kind == kList && value(pair).items.size() == 2)
            items.insert(items.end(), value(pair).items.begin(), value(pair).items.end());
      }
    spend(v.items.size());
    if (v.items.size() % 2 == 0) items.insert(items.end(), v.items.begin(), v.items.end());
    return items;
  }

  struct Call {
    std::string_view function;
    const std::vector<Id>* arguments = nullptr;
  };
  /// What an object would be a call of. A subclass of tensors is (function, class, arguments, state): the class adds
  /// behaviour, the arguments have the values.
  Call call(Id id) const {
    const Call c{callee(id), value(id).kind == kObject ? &arguments(id) : nullptr};
    if (c.function != "torch._tensor._rebuild_from_type_v2" || c.arguments->size() < 3) return c;
    const PickleValue &function = value((*c.arguments)[0]), &inner = value((*c.arguments)[2]);
    return function.kind == kGlobal && inner.kind == kTuple ? Call{function.text, &inner.items} : c;
  }

  bool is_tensor(Id id) const {
    const auto function = call(id).function;
    return function == "torch._utils._rebuild_tensor" || function == "torch._utils._rebuild_tensor_v2" ||
           function == "torch._utils._rebuild_tensor_v3";
  }

  /// The value inside what torch.nn puts around tensors. Bounded, for a made-up file may have a cycle.
  Id unwrapped(Id id) const {
    for (int depth = 0; depth < 8; ++depth) {
      const Call c = call(id);
      const bool parameter =
          c.function.starts_with("torch._utils._rebuild_parameter") || c.function == "torch.nn.parameter.Parameter";
      if (parameter && !c.arguments->empty()) {
        id = c.arguments->front();
      } else if (const Id inner = parameter_dict(id); valid(inner)) {
        id = inner;
      } else {
        return id;
      }
    }
    return id;
  }

  /// The dict inside a torch.nn.ParameterDict, in which textual inversions come.
  Id parameter_dict(Id id) const {
    if (callee(id) != "torch.nn.modules.container.ParameterDict" || !valid(value(id).state))
      return PickleValue::kNoValue;
    const auto& state = value(value(id).state).items;
    constexpr size_t kFirst = 64;  // an instance has some ten attributes
    for (size_t i = 0; i + 1 < std::min(state.size(), kFirst); i += 2)
      if (value(state[i]).text == "_parameters") return state[i + 1];
    return PickleValue::kNoValue;
  }

  /// Goes through everything that can be reached from `root` and is not in `seen`, until `visit` returns false.
  template <typename Visit>
  void reach(Id root, std::unordered_set<Id>& seen, const Visit& visit) const {
    std::vector<Id> open{root};
    while (!open.empty()) {
      const Id id = open.back();
      open.pop_back();
      if (!seen.insert(id).second) continue;
      if (!visit(id)) return;
      const PickleValue& v = value(id);
      open.insert(open.end(), v.items.begin(), v.items.end());
      for (const Id part : {v.first, v.second, v.state})
        if (valid(part)) open.push_back(part);
    }
  }

  /// How many tensors can be reached, without those that were seen before.
  size_t count_tensors(Id root, std::unordered_set<Id>& seen) const {
    size_t count = 0;
    reach(root, seen, [&](Id id) {
      count += is_tensor(id) ? 1 : 0;
      return true;
    });
    return count;
  }

  /// Whether anything reachable names a storage: then an object is a tensor of some kind. The answer no is remembered,
  /// so that objects which share much are not searched again and again.
  bool holds_storage(Id root) {
    bool found = false;
    reach(root, without_storage_, [&](Id id) { return !(found = value(id).kind == kPersistent); });
    return found;
  }

  Id choose_root() {
    Id root = pickle_.root;
    std::string taken;
    for (int depth = 0; depth < 4 && is_dict(root); ++depth) {
      const auto items = pairs(root);
      size_t direct = 0;
      for (size_t i = 1; i < items.size(); i += 2) direct += is_tensor(unwrapped(items[i])) ? 1 : 0;
      std::optional<Id> inner;
      for (const std::string_view wrapper : kWrappers) {
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
          if (value(items[i]).kind != kString || value(items[i]).text != wrapper) continue;
          std::unordered_set<Id> seen;
          if (is_dict(items[i + 1]) && count_tensors(items[i + 1], seen) > direct) inner = items[i + 1];
          break;
        }
        if (!inner) continue;
        taken += (taken.empty() ? "" : ".") + std::string(wrapper);
        break;
      }
      if (!inner) break;
      note_left(items, *inner, taken);
      root = *inner;
    }
    return root;
  }

  void note_left(const std::vector<Id>& items, Id inner, const std::string& taken) {
    std::string note = fmt::format("the weights are those under '{}'", taken);
    std::string left;
    constexpr int kShown = 8;
    int more = 0;
    std::unordered_set<Id> seen;
    count_tensors(inner, seen);
    for (size_t i = 0, shown = 0; i + 1 < items.size(); i += 2) {
      if (items[i + 1] == inner) continue;
      const size_t count = count_tensors(items[i + 1], seen);
      if (count == 0) continue;
      if (shown++ < kShown)
        left += fmt::format("{}{} ({})", left.empty() ? "" : ", ", printable(key_text(items[i]).value_or("?")), count);
      else
        ++more;
    }
    if (!left.empty()) note += "; not used, with their numbers of tensors: " + left;
    if (more) note += fmt::format(" and {} more", more);
    result_.notes.push_back(std::move(note));
  }

  std::optional<std::string> key_text(Id id) const {
    const PickleValue& v = value(id);
    if (v.kind == kString || v.kind == kBytes) return std::string(v.text);
    if (v.kind == kInt) return std::to_string(v.integer);
    return std::nullopt;
  }

  void spend(size_t amount) {
    if (amount > budget_)
      fail(ErrorCode::kBadFile, "{}: its dicts unfold to far more than the file holds", quoted(path_));
    budget_ -= amount;
  }

  void unfold(Id id, const std::string& name, int depth) {
    spend(16 + name.size());
    id = unwrapped(id);
    if (is_tensor(id)) return add_tensor(id, name);
    const PickleValue& v = value(id);
    const auto below = [&](const std::string& key, Id child) {
      unfold(child, name.empty() ? key : name + "." + key, depth + 1);
    };
    constexpr int kDeepest = 32;
    if (depth == kDeepest) fail(ErrorCode::kBadFile, "{}: dicts more than {} deep", quoted(path_), kDeepest);
    if (is_dict(id)) {
      const auto items = pairs(id);
      for (size_t i = 0; i + 1 < items.size(); i += 2)
        if (const auto key = key_text(items[i]))
          below(*key, items[i + 1]);
        else if (holds_storage(items[i + 1]))
          fail(ErrorCode::kBadFile, "{}: a tensor under {} whose key is neither text nor a number", quoted(path_),
               printable(name));
    } else if (v.kind == kList || v.kind == kTuple) {
      for (size_t i = 0; i < v.items.size(); ++i) below(std::to_string(i), v.items[i]);
    } else if (v.kind == kObject) {
      add_object(id, name, depth);
    } else if (v.kind == kPersistent) {
      fail(ErrorCode::kUnsupported, "{}: {} is a bare storage, not a tensor", quoted(path_), printable(name));
    }
  }

  void add_object(Id id, const std::string& name, int depth) {
    const std::string global = printable(callee(id).empty() ? "an unnamed class" : callee(id));
    if (depth == 0)
      fail(ErrorCode::kUnsupported,
           "{} holds a whole Python object of {}, not its weights: save model.state_dict() instead", quoted(path_),
           global);
    // The hooks and metadata beside a tensor are part of its call; an object that leads to a storage is itself one.
    if (holds_storage(id))
      fail(ErrorCode::kUnsupported, "{}: tensor {} is made by {}, which Gesso does not know; save it as a plain tensor",
           quoted(path_), printable(name), global);
    objects_.insert(global);
  }

  // Tensors.

  [[noreturn]] void bad_tensor(const std::string& name, std::string_view what) const {
    fail(ErrorCode::kBadFile, "{}: tensor {}: {}", quoted(path_), printable(name), what);
  }

  DType dtype_of(std::string_view global, const std::string& name) const {
    if (const auto dtype = torch_dtype(global)) return *dtype;
    fail(ErrorCode::kUnsupported, "{}: tensor {} has the element type {}, which Gesso does not have", quoted(path_),
         printable(name), printable(global));
  }

  int64_t integer(Id id, const std::string& name) const {
    if (value(id).kind != kInt || value(id).integer < 0) bad_tensor(name, "a size, stride or offset is no number >= 0");
    return value(id).integer;
  }

  std::vector<int64_t> integers(Id id, const std::string& name) const {
    // torch.Size is a tuple too
    const PickleValue& v = value(id);
    const bool wrapped = v.kind == kObject && callee(id) == "torch.Size" && arguments(id).size() == 1;
    const PickleValue& list = wrapped ? value(arguments(id)[0]) : v;
    if (list.kind != kTuple && list.kind != kList) bad_tensor(name, "its shape or strides are no list");
    if (list.items.size() > Shape::kMaxRank)
      fail(ErrorCode::kUnsupported, "{}: tensor {} has {} dimensions: at most {} are supported", quoted(path_),
           printable(name), list.items.size(), Shape::kMaxRank);
    std::vector<int64_t> numbers;
    for (const Id item : list.items) numbers.push_back(integer(item, name));
    return numbers;
  }

  /// The bytes of the storage, or of the part that its name means.
  StorageSpan find(const StorageName& storage, uint64_t element_size, const std::string& name) const {
    const StorageSpan whole = find_storage_(storage.key, storage.count, element_size);
    if (!storage.view) return whole;
    uint64_t begin = 0, bytes = 0;
    if (__builtin_mul_overflow(storage.view->begin, element_size, &begin) ||
        __builtin_mul_overflow(storage.view->count, element_size, &bytes) || begin > whole.bytes ||
        bytes > whole.bytes - begin)
      bad_tensor(name, "its part of the storage lies outside of it");
    return {whole.offset + begin, bytes};
  }

  void add_tensor(Id id, const std::string& name) {
    const Call c = call(id);
    const auto& args = *c.arguments;
    if (args.size() < 4) bad_tensor(name, "its call lacks arguments");
    const auto storage = storage_name(pickle_, value(args[0]));
    if (!storage) bad_tensor(name, "its storage is not named as torch does");
    const DType stored = dtype_of(storage->type, name);
    DType dtype = stored;
    if (c.function.ends_with("_v3")) {
      if (args.size() < 7 || value(args[6]).kind != kGlobal) bad_tensor(name, "its call lacks the element type");
      dtype = dtype_of(value(args[6]).text, name);
    }
    const std::vector<int64_t> sizes = integers(args[2], name), strides = integers(args[3], name);
    if (sizes.size() != strides.size()) bad_tensor(name, "as many strides as dimensions are needed");
    const StorageSpan span = find(*storage, static_cast<uint64_t>(size_of(stored)), name);
    result_.tensors.push_back(window(span, dtype, integer(args[1], name), sizes, strides, name));
  }

  /// Checks that the elements lie inside the storage.
  CheckpointTensor window(const StorageSpan& span, DType dtype, int64_t first, const std::vector<int64_t>& sizes,
                          const std::vector<int64_t>& strides, const std::string& name) const {
    const int64_t size = size_of(dtype);
    const auto elements = checked_elements(sizes);
    std::vector<int64_t> besides_zero = sizes;  // who multiplies extents later does not check again
    std::ranges::replace(besides_zero, int64_t{0}, int64_t{1});
    int64_t bytes = 0, begin = 0;
    if (!elements || !checked_elements(besides_zero) || __builtin_mul_overflow(*elements, size, &bytes) ||
        __builtin_mul_overflow(first, size, &begin))
      bad_tensor(name, "it is larger than any memory");
    int64_t end = 0, product = 1;  // of its elements, counted from `first`
    CheckpointTensor tensor;
    for (size_t axis = sizes.size(); axis-- > 0 && *elements > 0;) {
      int64_t reach = 0;
      if (__builtin_mul_overflow(sizes[axis] - 1, strides[axis], &reach) || __builtin_add_overflow(end, reach, &end))
        bad_tensor(name, "its strides lead outside of any memory");
      if (sizes[axis] != 1 && strides[axis] != product) tensor.contiguous = false;
      product *= sizes[axis];
      tensor.strides[axis] = strides[axis];
    }
    int64_t window_bytes = 0;
    if (*elements > 0 && (__builtin_add_overflow(end, 1, &end) || __builtin_mul_overflow(end, size, &window_bytes)))
      bad_tensor(name, "its strides lead outside of any memory");
    const auto room = static_cast<int64_t>(span.bytes);
    if (begin > room || window_bytes > room - begin)
      bad_tensor(name, fmt::format("{} of {} at element {} needs more than the {} bytes of its storage",
                                   to_string(Shape(sizes)), to_string(dtype), first, room));
    constexpr int64_t kLargestView = 1 << 20;
    if (bytes > room && bytes > kLargestView)
      bad_tensor(name,
                 fmt::format("an expanded view of {} bytes over a storage of {}: save a copy of it", bytes, room));
    tensor.info = {name, dtype, Shape(sizes), span.offset + static_cast<uint64_t>(begin), static_cast<uint64_t>(bytes)};
    tensor.window_bytes = static_cast<uint64_t>(window_bytes);
    return tensor;
  }

  void check_names() const {
    std::vector<std::string_view> names;
    for (const CheckpointTensor& t : result_.tensors) names.push_back(t.info.name);
    for (const auto name : names)
      if (!is_utf8(name))
        fail(ErrorCode::kBadFile, "{}: a tensor's name is not UTF-8: {}", quoted(path_), printable(valid_utf8(name)));
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice != names.end()) fail(ErrorCode::kBadFile, "{} has the tensor {} twice", quoted(path_), printable(*twice));
  }

  void note_objects() {
    if (objects_.empty()) return;
    std::string names;
    size_t shown = 0;
    for (const std::string& name : objects_)
      if (shown++ < 5) names += (names.empty() ? "" : ", ") + name;
    result_.notes.push_back(fmt::format("Python objects beside the weights were left as they are: {}{}", names,
                                        objects_.size() > 5 ? ", ..." : ""));
  }

  const Pickle& pickle_;
  const FindStorage& find_storage_;
  const std::filesystem::path& path_;
  size_t budget_ = 0;
  std::unordered_set<Id> without_storage_;
  std::set<std::string> objects_;
  CheckpointTensors result_;
};

}  // namespace

CheckpointTensors collect_tensors(const Pickle& pickle, const FindStorage& find_storage,
                                  const std::filesystem::path& path) {
  return Collector(pickle, find_storage, path).run();
}

}  // namespace gesso
