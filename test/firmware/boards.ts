/** Boards that request and download firmware with plain HTTP, and an administrator who uploads images. */
import { type Answer, ask, askAll, type Json } from "../http-client.ts";
import { adminToken, type Site } from "../site.ts";

export interface Offer {
  readonly version: string;
  readonly url: string;
  readonly force?: number;
}

export interface Asking {
  readonly id?: string;
  readonly clientId?: string;
  readonly board?: string;
  readonly version?: string;
  readonly body?: { readonly [key: string]: Json };
  readonly headers?: Readonly<Record<string, string>>;
}

const firstBoard = "02:00:00:00:00:01";

export function boardId(number: number): string {
  const hex = number.toString(16).padStart(6, "0");
  return `02:00:00:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4, 6)}`;
}

export async function handIn(
  site: Site,
  image: Uint8Array,
  query: Readonly<Record<string, string | readonly string[]>> = {},
  token = adminToken,
): Promise<Answer> {
  const search = new URLSearchParams(
    Object.entries({ board: "esp-box-3", ...query }).flatMap(([name, values]) =>
      [values].flat().map((value): [string, string] => [name, value]),
    ),
  );
  return await askAll(site.url, {
    method: "POST",
    path: `/api/v1/firmware?${search}`,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" },
    body: image,
  });
}

/** The OTA reply to a board. */
export async function askAtBoot(site: Site, asking: Asking = {}): Promise<Answer> {
  const { id = firstBoard, board = "esp-box-3", version = "2.4.2", body = {}, headers = {} } = asking;
  return await askAll(site.url, {
    method: "POST",
    path: "/xiaozhi/ota/",
    headers: {
      "device-id": id,
      "client-id": asking.clientId ?? `client-of-${id}`,
      "user-agent": `${board}/${version}`,
      ...headers,
    },
    body: JSON.stringify({ application: { version }, board: { type: board, name: board }, ...body }),
  });
}

/** The firmware offer, if there is one. */
export async function offerOf(site: Site, asking: Asking = {}): Promise<Offer | undefined> {
  const firmware = (await askAtBoot(site, asking)).body["firmware"] as unknown as Offer;
  return firmware.url === "" ? undefined : firmware;
}

export interface Fetched {
  readonly status: number;
  /** Header names and values in turn, in their original spelling. */
  readonly rawHeaders: readonly string[];
  readonly bytes: Buffer;
}

/** A GET with only a Host header. */
export async function fetchImage(
  url: string,
  method = "GET",
  headers: Readonly<Record<string, string>> = {},
): Promise<Fetched> {
  const { origin, pathname } = new URL(url);
  const response = await ask(origin, { method, path: pathname, headers });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { statusCode: status = 0, rawHeaders } = response;
  return { status, rawHeaders, bytes: Buffer.concat(chunks) };
}

/** Requests, downloads and restarts with this version or the old one. */
export async function update(site: Site, id: string, version: string, had = "2.4.2"): Promise<void> {
  const offer = await offerOf(site, { id, version: had });
  if (offer === undefined) throw new TypeError(`${id} was offered nothing`);
  await fetchImage(offer.url);
  await askAtBoot(site, { id, version });
}

export async function imageView(site: Site, id: string): Promise<{ [key: string]: Json }> {
  return (await site.rest("GET", `/firmware/${id}`)).body;
}
