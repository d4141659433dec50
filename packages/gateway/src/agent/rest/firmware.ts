import type { Readable } from "node:stream";
import { FirmwareChange, FirmwareDetail, FirmwareList, FirmwareUpload } from "@tendon/protocol";
import Type from "typebox";
import { requireScope } from "../../access/access.ts";
import { TendonError } from "../../errors.ts";
import { named } from "../../named-routes.ts";
import { failures, type Http } from "../http/http.ts";
import type { RestDependencies } from "./rest.ts";
import { actorOf } from "./route-parts.ts";

const tags = ["firmware"];
const ImageParams = Type.Object({ id: Type.String({ maxLength: 64 }) });

/** For the description only. The body is a stream, which the library checks when it is complete. */
const ImageFile = Type.Unsafe<Readable>({ format: "binary", description: "The image file" });

export async function firmwareRoutes(http: Http, dependencies: RestDependencies): Promise<void> {
  const { library, audit } = dependencies;
  http.get(
    "/firmware",
    {
      schema: {
        operationId: "listFirmware",
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
        operationId: "getFirmware",
        summary: "One image, with the devices that failed to update to it",
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
        operationId: "changeFirmware",
        summary: "Change the share or the tags of an image, halt its roll-out or resume it",
        tags,
        params: ImageParams,
        body: FirmwareChange,
        response: { 200: FirmwareDetail, ...failures },
      },
    },
    async (request) => {
      const changed = await library.change(request.principal, request.params.id, request.body);
      await audit.record(actorOf(request), "firmware.change", targetOf(changed), request.body);
      return changed;
    },
  );
  http.delete(
    "/firmware/:id",
    {
      schema: {
        operationId: "deleteFirmware",
        summary: "Delete an image; devices that run it keep it",
        tags,
        params: ImageParams,
        response: { 204: Type.Null(), ...failures },
      },
    },
    async (request, reply) => {
      const removed = await library.detail(request.principal, request.params.id);
      await library.remove(request.principal, request.params.id);
      await audit.record(actorOf(request), "firmware.delete", targetOf(removed));
      await reply.code(204).send(null);
    },
  );
  const register = async (routes: unknown) => uploadRoute(routes as Http, dependencies);
  await http.register(named("firmware upload", register));
}

function targetOf({ id, board, version }: FirmwareDetail): { type: string; id: string; name: string } {
  return { type: "firmware", id, name: `${board} ${version}` };
}

/** Registered in a scope of its own, because its content-type parser hands on the body as a stream. */
function uploadRoute(http: Http, { library, audit }: RestDependencies): void {
  http.removeAllContentTypeParsers();
  http.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
  http.post(
    "/firmware",
    {
      schema: {
        operationId: "uploadFirmware",
        summary: "Upload an image; the body is the file itself",
        description:
          "The gateway checks format, digest, chip, version and board before it offers the image to devices. Repeat `tags` for several tags. A token that is limited to tags must name some of them, and no others.",
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
      // A rejected upload is not read to its end, so the connection cannot carry another request.
      reply.header("connection", "close");
      const body: Readable | null | undefined = request.body;
      if (body === undefined || body === null)
        throw new TendonError("bad_request", "the body is empty; send the image file as the body");
      const added = await library.add(request.principal, request.query, unbroken(body));
      await audit.record(actorOf(request), "firmware.add", targetOf(added), request.query);
      reply.code(201);
      return added;
    },
  );
}

/** Reports a client that disconnects during the upload as a bad request, not as an internal error. */
async function* unbroken(body: Readable): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk as Uint8Array;
  } catch (error) {
    throw new TendonError("bad_request", "the client disconnected before the end of the upload", {}, error);
  }
}
