/** The upload route of boards. The status is always 200 after the ticket is identified. */
import { visionLimits } from "@tendon/protocol";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { type DeviceClaim, readClaim } from "../device/device.ts";
import { messageOf, TendonError } from "../errors.ts";
import type { Photos, Picture } from "./photos.ts";
import { pictureTypeOf } from "./picture-format.ts";
import type { VisionProvider } from "./provider.ts";
import { failureReply, plainText, successReply } from "./reply.ts";
import type { Claim, Ticket } from "./tickets.ts";
import { acceptUploads, discardUpload, readUpload } from "./upload.ts";
import { VisionProblem, type VisionProblemCode } from "./vision-problem.ts";

/** A picture that was delivered to its call. */
export interface ExplainedPhoto {
  readonly device: string;
  readonly callId: string;
  readonly id: string;
  readonly mimeType: string;
  readonly bytes: number;
  /** Why the vision provider did not describe it. */
  readonly problem: string | undefined;
  readonly uploadMs: number;
  readonly explainMs: number;
}

/** A rejected upload. `code` is one of a fixed set; `device` is the sender's unverified claim. */
export interface RefusedPhoto {
  readonly code: string;
  readonly reason: string;
  readonly device?: string | undefined;
  readonly callId?: string | undefined;
  readonly from?: string | undefined;
}

export interface VisionRoutesDependencies {
  readonly clock: Clock;
  readonly photos: Photos;
  readonly provider?: VisionProvider | undefined;
  readonly onPhoto: (photo: ExplainedPhoto) => void;
  readonly onRefused: (refused: RefusedPhoto) => void;
}

type KnownClaim = Exclude<Claim<Picture>, { readonly kind: "unknown" }>;

const unexplained =
  "The photo was taken and is delivered to the caller. It has no description, because no vision provider is configured.";

export async function visionRoutes(
  http: FastifyInstance,
  dependencies: VisionRoutesDependencies,
): Promise<void> {
  const handler = new UploadHandler(dependencies);
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const body = await handler.answer(request, reply);
    // After an unfinished body the connection cannot carry another request.
    if (!request.raw.readableEnded) reply.header("connection", "close");
    return await reply.code(200).type("application/json; charset=utf-8").send(body);
  };
  await http.register(async (routes) => {
    await acceptUploads(routes);
    // Fastify rejects an unreadable content type before the handler runs. Answer it like any other invalid form.
    routes.setErrorHandler(async (error: FastifyError, request, reply) => {
      if (error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return await answer(request, reply);
      throw error;
    });
    routes.post("/vision/explain", { schema: { hide: true } }, answer);
  });
}

class UploadHandler {
  readonly #dependencies: VisionRoutesDependencies;
  #running = 0;

  constructor(dependencies: VisionRoutesDependencies) {
    this.#dependencies = dependencies;
  }

  async answer(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const { device, claim } = this.#identify(request, reply);
    const callId = claim.kind === "granted" ? claim.ticket.callId : undefined;
    this.#running += 1;
    try {
      if (claim.kind !== "granted") return await this.#reject(request, claim.kind);
      if (this.#running > visionLimits.uploadsAtOnce.max) return await this.#reject(request, "busy");
      return await this.#receive(request, reply, claim.ticket);
    } catch (error) {
      const problem = error instanceof VisionProblem ? error : new VisionProblem("fault");
      const reason = problem.code === "fault" ? messageOf(error) : problem.message;
      this.#dependencies.onRefused({ code: problem.code, reason, device, callId, from: request.ip });
      return failureReply(problem.message);
    } finally {
      this.#running -= 1;
    }
  }

  /** Runs before the body is read. */
  #identify(request: FastifyRequest, reply: FastifyReply): { device: string; claim: KnownClaim } {
    const { deviceId: device, token } = readOrUndefined(request) ?? {};
    if (device !== undefined && token !== undefined) {
      const claim = this.#dependencies.photos.claim(token, device);
      if (claim.kind !== "unknown") return { device, claim };
    }
    const error = new TendonError(
      "unauthenticated",
      "no call of this device waits for a photo with this token",
    );
    this.#dependencies.onRefused({ code: error.code, reason: error.message, device, from: request.ip });
    reply.header("connection", "close");
    throw error;
  }

  async #reject(request: FastifyRequest, code: VisionProblemCode): Promise<never> {
    await discardUpload(request, this.#dependencies.clock);
    throw new VisionProblem(code);
  }

  async #receive(request: FastifyRequest, reply: FastifyReply, ticket: Ticket<Picture>): Promise<string> {
    const { clock, photos } = this.#dependencies;
    const startedAt = clock.monotonic();
    const { question, bytes } = await readUpload(request, clock);
    const mimeType = pictureTypeOf(bytes);
    if (mimeType === undefined) throw new VisionProblem("not_a_picture");
    const picture = await photos.accept(ticket, { bytes, mimeType, question: plainText(question) });
    if (picture === undefined) throw new VisionProblem("call_over");
    return await this.#explain(picture, ticket, reply, clock.monotonic() - startedAt);
  }

  /** The picture is already delivered to its call. A failure from here on affects only the description. */
  async #explain(
    picture: Picture,
    ticket: Ticket<Picture>,
    reply: FastifyReply,
    uploadMs: number,
  ): Promise<string> {
    const { clock, provider, onPhoto } = this.#dependencies;
    const startedAt = clock.monotonic();
    const { id, mimeType } = picture;
    const report = (problem: VisionProblem | undefined) =>
      onPhoto({
        device: ticket.deviceId,
        callId: ticket.callId,
        id,
        mimeType,
        bytes: picture.bytes.length,
        problem: problem?.code,
        uploadMs,
        explainMs: clock.monotonic() - startedAt,
      });
    const disconnected = new AbortController();
    reply.raw.once("close", () => disconnected.abort());
    try {
      const text = await provider?.explain(
        picture,
        AbortSignal.any([disconnected.signal, ticket.ended.signal]),
      );
      report(undefined);
      return successReply(text ?? unexplained);
    } catch (error) {
      if (!(error instanceof VisionProblem)) throw error;
      report(error);
      return failureReply(error.message);
    }
  }
}

function readOrUndefined(request: FastifyRequest): DeviceClaim | undefined {
  try {
    return readClaim(request.headers);
  } catch {
    return undefined;
  }
}
