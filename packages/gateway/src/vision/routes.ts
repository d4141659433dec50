/**
 * The upload routes of boards. A photo has its ticket in a header, a screenshot in its address. The status is always 200
 * after the ticket is identified.
 */
import { visionLimits } from "@tendon/protocol";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { type DeviceClaim, readClaim } from "../device/device.ts";
import { messageOf, TendonError } from "../errors.ts";
import { named } from "../named-routes.ts";
import type { Photos, Picture } from "./photos.ts";
import { type PictureType, pictureTypeOf } from "./picture-format.ts";
import type { VisionProvider } from "./provider.ts";
import { failureReply, plainText, successReply } from "./reply.ts";
import type { Screenshot, Snapshots } from "./snapshots.ts";
import type { Claim, Ticket } from "./tickets.ts";
import { acceptUploads, discardUpload, readUpload, type Upload } from "./upload.ts";
import { VisionProblem, type VisionProblemCode } from "./vision-problem.ts";

/** A picture that was delivered to its call. */
export interface ExplainedPhoto {
  readonly kind: "photo" | "screenshot";
  readonly device: string;
  readonly callId: string;
  /** The id of the stored copy. Screenshots are not stored. */
  readonly id?: string;
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
  readonly snapshots: Snapshots;
  readonly provider?: VisionProvider | undefined;
  readonly onPhoto: (photo: ExplainedPhoto) => void;
  readonly onRefused: (refused: RefusedPhoto) => void;
}

/** The path of screenshot uploads; the ticket follows. */
export const snapshotPath = "/vision/snapshot/";

const unexplained =
  "The photo was taken and is delivered to the caller. It has no description, because no vision provider is configured.";
const screenshotDelivered = "The screenshot is delivered to the caller.";

export async function visionRoutes(
  http: FastifyInstance,
  dependencies: VisionRoutesDependencies,
): Promise<void> {
  const photos = new PhotoUploads(dependencies);
  const screenshots = new ScreenshotUploads(dependencies);
  const uploads = new UploadHandler(dependencies);
  const isScreenshot = ({ url }: FastifyRequest) => url.startsWith(snapshotPath);
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const body = isScreenshot(request)
      ? await uploads.answer(request, reply, screenshots)
      : await uploads.answer(request, reply, photos);
    // After an unfinished body the connection cannot carry another request.
    if (!request.raw.readableEnded) reply.header("connection", "close");
    return await reply.code(200).type("application/json; charset=utf-8").send(body);
  };
  const register = async (routes: FastifyInstance) => {
    await acceptUploads(routes);
    // Fastify rejects an unreadable content type before the handler runs. Answer it like any other invalid form.
    routes.setErrorHandler(async (error: FastifyError, request, reply) => {
      if (error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return await answer(request, reply);
      throw error;
    });
    routes.post("/vision/explain", { schema: { hide: true } }, answer);
    routes.post(`${snapshotPath}:ticket`, { schema: { hide: true } }, answer);
  };
  await http.register(named("vision", register));
}

/** An upload whose sender is identified. */
interface Received<Content> extends Upload {
  readonly ticket: Ticket<Content>;
  readonly mimeType: PictureType;
  readonly uploadMs: number;
  readonly reply: FastifyReply;
}

/** The differences between photos and screenshots. */
interface UploadKind<Content> {
  /** Returns `unknown` for every ticket that is not of this kind. */
  identify(request: FastifyRequest): { readonly device: string | undefined; readonly claim: Claim<Content> };
  /** Delivers the picture to its call and returns the reply to the board. */
  deliver(received: Received<Content>): Promise<string>;
  /** The upload of this ticket was rejected. */
  rejected(ticket: Ticket<Content>, reason: string): void;
}

class UploadHandler {
  readonly #dependencies: VisionRoutesDependencies;
  #running = 0;

  constructor(dependencies: VisionRoutesDependencies) {
    this.#dependencies = dependencies;
  }

  async answer<Content>(
    request: FastifyRequest,
    reply: FastifyReply,
    kind: UploadKind<Content>,
  ): Promise<string> {
    // Before the body is read.
    const { device, claim } = kind.identify(request);
    if (claim.kind === "unknown") throw this.#unidentified(request, reply, device);
    const ticket = claim.kind === "granted" ? claim.ticket : undefined;
    this.#running += 1;
    try {
      if (claim.kind !== "granted") return await this.#reject(request, claim.kind);
      if (this.#running > visionLimits.uploadsAtOnce.max) return await this.#reject(request, "busy");
      return await this.#receive(request, reply, claim.ticket, kind);
    } catch (error) {
      const problem = error instanceof VisionProblem ? error : new VisionProblem("fault");
      const reason = problem.code === "fault" ? messageOf(error) : problem.message;
      const callId = ticket?.callId;
      this.#dependencies.onRefused({ code: problem.code, reason, device, callId, from: request.ip });
      if (ticket !== undefined) kind.rejected(ticket, problem.message);
      return failureReply(problem.message);
    } finally {
      this.#running -= 1;
    }
  }

  #unidentified(request: FastifyRequest, reply: FastifyReply, device: string | undefined): TendonError {
    const error = new TendonError(
      "unauthenticated",
      "no call of this device waits for a picture with this token",
    );
    this.#dependencies.onRefused({ code: error.code, reason: error.message, device, from: request.ip });
    reply.header("connection", "close");
    return error;
  }

  async #reject(request: FastifyRequest, code: VisionProblemCode): Promise<never> {
    await discardUpload(request, this.#dependencies.clock);
    throw new VisionProblem(code);
  }

  async #receive<Content>(
    request: FastifyRequest,
    reply: FastifyReply,
    ticket: Ticket<Content>,
    kind: UploadKind<Content>,
  ): Promise<string> {
    const { clock } = this.#dependencies;
    const startedAt = clock.monotonic();
    const upload = await readUpload(request, clock);
    const mimeType = pictureTypeOf(upload.bytes);
    if (mimeType === undefined) throw new VisionProblem("not_a_picture");
    return await kind.deliver({
      ...upload,
      ticket,
      mimeType,
      uploadMs: clock.monotonic() - startedAt,
      reply,
    });
  }
}

class PhotoUploads implements UploadKind<Picture> {
  readonly #dependencies: VisionRoutesDependencies;

  constructor(dependencies: VisionRoutesDependencies) {
    this.#dependencies = dependencies;
  }

  identify(request: FastifyRequest): { device: string | undefined; claim: Claim<Picture> } {
    const { deviceId: device, token } = readOrUndefined(request) ?? {};
    if (device === undefined || token === undefined) return { device, claim: { kind: "unknown" } };
    return { device, claim: this.#dependencies.photos.claim(token, device) };
  }

  async deliver({ ticket, reply, uploadMs, ...upload }: Received<Picture>): Promise<string> {
    const { bytes, mimeType } = upload;
    const question = plainText(upload.question);
    const picture = await this.#dependencies.photos.accept(ticket, { bytes, mimeType, question });
    if (picture === undefined) throw new VisionProblem("call_over");
    return await this.#explain(picture, ticket, reply, uploadMs);
  }

  /** The caller learns the reason from the board's answer. */
  rejected(): void {}

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
        kind: "photo",
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

class ScreenshotUploads implements UploadKind<Screenshot> {
  readonly #dependencies: VisionRoutesDependencies;

  constructor(dependencies: VisionRoutesDependencies) {
    this.#dependencies = dependencies;
  }

  identify({ params }: FastifyRequest): { device: string | undefined; claim: Claim<Screenshot> } {
    // Safe: the route has this parameter.
    const claim = this.#dependencies.snapshots.claim((params as { ticket: string }).ticket);
    return { device: claim.kind === "granted" ? claim.ticket.deviceId : undefined, claim };
  }

  async deliver({ ticket, bytes, mimeType, uploadMs }: Received<Screenshot>): Promise<string> {
    const { snapshots, onPhoto } = this.#dependencies;
    if (!snapshots.deliver(ticket, { bytes, mimeType })) throw new VisionProblem("call_over");
    onPhoto({
      kind: "screenshot",
      device: ticket.deviceId,
      callId: ticket.callId,
      mimeType,
      bytes: bytes.length,
      problem: undefined,
      uploadMs,
      explainMs: 0,
    });
    return successReply(screenshotDelivered);
  }

  /** The firmware ignores the reply, so the caller gets the reason from the ticket. */
  rejected(ticket: Ticket<Screenshot>, reason: string): void {
    this.#dependencies.snapshots.fail(ticket, reason);
  }
}

function readOrUndefined(request: FastifyRequest): DeviceClaim | undefined {
  try {
    return readClaim(request.headers);
  } catch {
    return undefined;
  }
}
