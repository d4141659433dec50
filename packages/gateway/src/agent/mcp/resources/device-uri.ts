/** Addresses of what a device has to show: `device://{id}/state`, `/events`, `/photos/{n}`. */
export interface DeviceUri {
  /** Id or alias, as somebody wrote it. */
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

/** A MAC address has colons, and many clients would take them for a port: in lists they are written as %3A. */
export function deviceUri(id: string, part: string): string {
  return `device://${encodeURIComponent(id)}/${part}`;
}

/** What comes after the device, as it is written. */
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
