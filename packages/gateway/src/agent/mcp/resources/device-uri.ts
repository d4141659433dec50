/** The URIs of a device's resources: `device://{id}/state`, `/events`, `/photos/{n}`. */
export interface DeviceUri {
  /** Id or alias, as the client wrote it. */
  readonly device: string;
  readonly part: "state" | "events" | { readonly photo: number };
}

const form = /^device:\/\/([^/]+)\/(?:(state|events)|photos\/(\d{1,9}))$/;

export function readDeviceUri(uri: string): DeviceUri | undefined {
  const [, device, part, photo] = form.exec(uri) ?? [];
  const name = device === undefined ? undefined : decoded(device);
  if (name === undefined) return undefined;
  if (part === "state" || part === "events") return { device: name, part };
  return { device: name, part: { photo: Number(photo) } };
}

/** Colons of a MAC address are written as %3A, because many clients would read them as a port. */
export function deviceUri(id: string, part: string): string {
  return `device://${encodeURIComponent(id)}/${part}`;
}

/** The part of the URI after the device. */
export function partOf({ part }: DeviceUri): string {
  return typeof part === "string" ? part : `photos/${part.photo}`;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
