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

/** Every way to write the same address, for those who watch it under another than the listed one. */
export function spellings(id: string, alias: string | undefined, part: string): string[] {
  const all = [deviceUri(id, part), `device://${id}/${part}`];
  return alias === undefined ? all : [...all, `device://${alias}/${part}`];
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
