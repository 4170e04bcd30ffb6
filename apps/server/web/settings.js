// What a picture file says about itself, as a request.

/** Of A1111's fields, which the server makes of what every program writes. */
function fromFields(fields) {
  const request = {};
  const take = (name, key, convert = (value) => value) => {
    if (fields[key] !== undefined && fields[key] !== "") request[name] = convert(fields[key]);
  };
  take("prompt", "Prompt");
  take("negative_prompt", "Negative prompt");
  take("steps", "Steps", Number);
  take("cfg_scale", "CFG scale", Number);
  take("seed", "Seed", Number);
  take("sampling_method", "Sampler");
  take("scheduler", "Schedule type");
  take("model", "Model");
  const size = /^(\d+)x(\d+)$/.exec(fields.Size ?? "");
  if (size) [request.width, request.height] = [Number(size[1]), Number(size[2])];
  return request;
}

/** `info` is the answer of /api/v1/pictures/info. Null when the picture says nothing. */
export function settingsOf(info) {
  if (info.request) return { ...info.request, init_image: undefined, mask_image: undefined };
  const request = fromFields(info.fields ?? {});
  return Object.keys(request).length > 0 ? request : null;
}
