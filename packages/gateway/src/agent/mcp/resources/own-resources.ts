/** State, events and photos of devices as resources. */
import {
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
  type ResourceTemplateType,
} from "@modelcontextprotocol/server";
import type { Photo } from "../../../calls/calls.ts";
import { isoTime } from "../../../clock.ts";
import { TendonError } from "../../../errors.ts";
import type { AgentView } from "../agent-view.ts";
import { deviceUri, readDeviceUri } from "./device-uri.ts";

const devicesAtOnce = 100;
const eventsShown = 50;
const json = "application/json";

export const ownTemplates: readonly ResourceTemplateType[] = [
  {
    uriTemplate: "device://{id}/state",
    name: "device state",
    description: "Whether a device is online, and its last reported status",
    mimeType: json,
  },
  {
    uriTemplate: "device://{id}/events",
    name: "device events",
    description: "The last events of a device; pass `next` to events_wait",
    mimeType: json,
  },
  {
    uriTemplate: "device://{id}/photos/{n}",
    name: "device photo",
    description: "A photo that a device took; `n` counts from 1",
    mimeType: "image/jpeg",
  },
];

/** One page of devices makes one page of resources. */
export function listOwn(
  { services, principal, selection }: AgentView,
  cursor: string | undefined,
): { readonly resources: Resource[]; readonly nextCursor?: string } {
  if (selection.kind === "device") {
    const { id, alias } = services.fleet.device(principal, selection.device);
    const photos = services.photos.list(principal, id).map((photo) => photoOf(id, alias, photo));
    return { resources: [...resourcesOf(id, alias), ...photos] };
  }
  const page = services.fleet.list(principal, {
    limit: devicesAtOnce,
    ...(cursor === undefined ? {} : { cursor }),
  });
  return {
    resources: page.devices.flatMap(({ id, alias }) => resourcesOf(id, alias)),
    ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }),
  };
}

function resourcesOf(id: string, alias: string): Resource[] {
  return [
    {
      uri: deviceUri(id, "state"),
      name: `${alias} state`,
      description: `Whether ${alias} is online, and its last reported status`,
      mimeType: json,
    },
    {
      uri: deviceUri(id, "events"),
      name: `${alias} events`,
      description: `The last events of ${alias}`,
      mimeType: json,
    },
  ];
}

function photoOf(id: string, alias: string, { number, at, mimeType }: Photo): Resource {
  return {
    uri: deviceUri(id, `photos/${number}`),
    name: `${alias} photo ${number}`,
    description: `Taken by ${alias} at ${isoTime(at)}`,
    mimeType,
  };
}

/** `undefined` if the URI is not one of Tendon's own. */
export async function readOwn(view: AgentView, uri: string): Promise<ReadResourceResult | undefined> {
  const wanted = readDeviceUri(uri);
  if (wanted === undefined) return undefined;
  const { services, principal, events, selection } = view;
  try {
    const detail = services.fleet.device(principal, wanted.device);
    if (selection.kind === "device" && detail.id !== selection.device) throw new ResourceNotFoundError(uri);
    if (wanted.part === "state") return asText(uri, await services.fleet.inspect(principal, detail.id));
    if (wanted.part === "events") {
      return asText(uri, { events: events.recentOf(detail.id, eventsShown), next: events.lastId });
    }
    const photo = await services.photos.read(principal, detail.id, wanted.part.photo);
    if (photo === undefined) throw new ResourceNotFoundError(uri);
    return { contents: [{ uri, mimeType: photo.mimeType, blob: photo.data }] };
  } catch (error) {
    if (error instanceof TendonError && error.code === "device_unknown") throw new ResourceNotFoundError(uri);
    throw error;
  }
}

function asText(uri: string, value: object): ReadResourceResult {
  return { contents: [{ uri, mimeType: json, text: JSON.stringify(value) }] };
}
