import type { Readable } from "node:stream";
import { FirmwareChange, FirmwareDetail, FirmwareList, FirmwareUpload } from "@tendon/protocol";
import Type from "typebox";
import { requireScope } from "../../access/access.ts";
import { TendonError } from "../../errors.ts";
import type { Firmware } from "../../firmware/firmware.ts";
import type { Http } from "../http/http.ts";
import { failures } from "./route-parts.ts";

const tags = ["firmware"];
const ImageParams = Type.Object({ id: Type.String({ maxLength: 64 }) });

/** Only described: what comes is a stream, and is looked at when it is whole. */
const ImageFile = Type.Unsafe<Readable>({ format: "binary", description: "The file itself" });

export async function firmwareRoutes(http: Http, library: Firmware["library"]): Promise<void> {
  http.get(
    "/firmware",
    {
      schema: {
        summary: "Firmware images, newest first",
        tags,
        response: { 200: FirmwareList, ...failures },
      },
    },
    async (request) => ({ images: await library.list(request.principal) }),
  );
  http.get(
    "/firmware/:id",
    {
      schema: {
        summary: "One image, with the devices that did not come back with it",
        tags,
        params: ImageParams,
        response: { 200: FirmwareDetail, ...failures },
      },
    },
    (request) => library.detail(request.principal, request.params.id),
  );
  http.patch(
    "/firmware/:id",
    {
      schema: {
        summary: "Offer an image to more devices or fewer, halt it, or go on with it",
        tags,
        params: ImageParams,
        body: FirmwareChange,
        response: { 200: FirmwareDetail, ...failures },
      },
    },
    (request) => library.change(request.principal, request.params.id, request.body),
  );
  http.delete(
    "/firmware/:id",
    {
      schema: {
        summary: "Remove an image; devices that have it keep it",
        tags,
        params: ImageParams,
        response: { 204: Type.Null(), ...failures },
      },
    },
    async (request, reply) => {
      await library.remove(request.principal, request.params.id);
      await reply.code(204).send(null);
    },
  );
  await http.register(async (routes) => uploadRoute(routes as unknown as Http, library));
}

/** In a corner of its own: here a body is a stream, and nothing but the image. */
function uploadRoute(http: Http, library: Firmware["library"]): void {
  http.removeAllContentTypeParsers();
  http.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  http.post(
    "/firmware",
    {
      schema: {
        summary: "Hand in an image; the body is the file itself",
        description: "It is checked before it is offered to anybody: form, digest, chip, version, board.",
        tags,
        querystring: FirmwareUpload,
        body: ImageFile,
        consumes: ["application/octet-stream"],
        response: { 201: FirmwareDetail, ...failures },
      },
      onRequest: (request, _reply, next) => {
        requireScope(request.principal, "admin");
        next();
      },
    },
    async (request, reply) => {
      // What is refused is not read to its end, so nothing can follow it on this connection.
      reply.header("connection", "close");
      const body: Readable | null | undefined = request.body;
      if (body === undefined || body === null)
        throw new TendonError("bad_request", "the body is to be the image");
      const added = await library.add(request.principal, request.query, unbroken(body));
      reply.code(201);
      return added;
    },
  );
}

/** A sender that goes away in the middle is no fault of ours. */
async function* unbroken(body: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (error) {
    throw new TendonError("bad_request", "the upload broke off", {}, error);
  }
}
