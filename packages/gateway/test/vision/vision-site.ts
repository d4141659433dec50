/** The vision routes on a real server with their own folder, and boards that upload over real sockets. */
import fs from "node:fs";
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import os from "node:os";
import path from "node:path";
import { Inbox } from "../../../../test/inbox.ts";
import { ManualClock } from "../../../../test/manual-clock.ts";
import { createHttp } from "../../src/agent/http/server.ts";
import {
  type ExplainedPhoto,
  Photos,
  type PhotosSettings,
  type RefusedPhoto,
  Snapshots,
  VisionProvider,
  visionRoutes,
} from "../../src/vision/vision.ts";
import { formType } from "./form.ts";

export const deviceId = "aa:bb:cc:dd:ee:01";

export interface SiteOptions {
  readonly photos?: Partial<PhotosSettings>;
  readonly provider?: { readonly url: string; readonly model?: string; readonly apiKey?: string };
  readonly clock?: ManualClock;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface UploadOptions {
  readonly token?: string | undefined;
  readonly device?: string;
  readonly type?: string | undefined;
  readonly path?: string;
  /** Sent with a Content-Length instead of in chunks. */
  readonly length?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface OpenUpload {
  readonly request: ClientRequest;
  readonly answer: Promise<Answer>;
}

export async function startSite(options: SiteOptions = {}) {
  const clock = options.clock ?? new ManualClock();
  const data = fs.mkdtempSync(path.join(os.tmpdir(), "tendon-vision-"));
  const folder = path.join(data, "photos");
  const seen = new Inbox<ExplainedPhoto>("explained photo");
  const refused = new Inbox<RefusedPhoto>("refused photo");
  const faults = new Inbox<unknown>("fault");
  const photos = await Photos.open({ folder, clock, onFault: (what) => faults.put(what), ...options.photos });
  const snapshots = new Snapshots(clock, "");
  const provider =
    options.provider === undefined
      ? undefined
      : new VisionProvider({ model: "eye-1", ...options.provider }, clock);
  const http = await createHttp({
    clock,
    host: "127.0.0.1",
    trustProxy: false,
    allowedOrigins: [],
    version: "0",
    reportFault: (error) => faults.put(error),
    onCut: (from) => faults.put(from),
    onRefused: () => undefined,
  });
  await visionRoutes(http, {
    clock,
    photos,
    snapshots,
    provider,
    onPhoto: (photo) => seen.put(photo),
    onRefused: (why) => refused.put(why),
  });
  await http.listen({ host: "127.0.0.1", port: 0 });
  const { port } = http.server.address() as AddressInfo;

  /** Sends only the headers; each write becomes one chunk. */
  const begin = (upload: UploadOptions): OpenUpload => {
    const type = "type" in upload ? upload.type : formType;
    const request = httpRequest({
      host: "127.0.0.1",
      port,
      method: "POST",
      path: upload.path ?? "/vision/explain",
      agent: false,
      headers: {
        "Device-Id": upload.device ?? deviceId,
        "Client-Id": "0f0e0d0c-0000-4000-8000-000000000001",
        ...(upload.token === undefined ? {} : { Authorization: `Bearer ${upload.token}` }),
        ...(type === undefined ? {} : { "Content-Type": type }),
        ...(upload.length === undefined
          ? { "Transfer-Encoding": "chunked" }
          : { "Content-Length": upload.length }),
        Connection: "close",
        ...upload.headers,
      },
    });
    request.flushHeaders();
    const answer = new Promise<Answer>((resolve, reject) => {
      request.on("error", reject);
      request.on("response", (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("error", reject);
        response.on("end", () => {
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, text: Buffer.concat(parts).toString() });
        });
      });
    });
    // A test that aborts its upload does not wait for the answer.
    answer.catch(() => undefined);
    return { request, answer };
  };

  return {
    clock,
    folder,
    photos,
    snapshots,
    seen,
    refused,
    faults,
    port,
    begin,
    openTicket: (device = deviceId) => photos.openTicket({ deviceId: device, callId: "call-1" }).token,
    files: () => fs.readdirSync(folder).sort(),
    async upload(chunks: readonly Buffer[], upload: UploadOptions): Promise<Answer> {
      const { request, answer } = begin(upload);
      for (const chunk of chunks) request.write(chunk);
      request.end();
      return await answer;
    },
    async stop(): Promise<void> {
      await http.close();
      snapshots.stop();
      await photos.stop();
      fs.rmSync(data, { recursive: true, force: true });
    },
  };
}

export type Site = Awaited<ReturnType<typeof startSite>>;

/** Checks the answer as a board does: exactly 200, JSON, less than 8 KB. */
export function wordsOf(answer: Answer): { success: boolean; result?: string; message?: string } {
  if (answer.status !== 200) throw new TypeError(`status ${answer.status}: ${answer.text}`);
  if (Buffer.byteLength(answer.text) >= 8_000) throw new TypeError("the reply is too long for a board");
  return JSON.parse(answer.text) as { success: boolean; result?: string; message?: string };
}
