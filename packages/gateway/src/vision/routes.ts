/** Where boards upload what they see, and what they are answered: always 200 once it is clear whose picture it is. */
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

/** A picture that reached its call. */
export interface ExplainedPhoto {
  readonly device: string;
  readonly callId: string;
  readonly id: string;
  readonly mimeType: string;
  readonly bytes: number;
  /** Why nobody explained it, where somebody should have. */
  readonly problem: string | undefined;
  readonly uploadMs: number;
  readonly explainMs: number;
}

/** An upload that reached nobody. `code` is one of a few; `device` is only what the sender says. */
export interface RefusedPhoto {
  readonly code: string;
  readonly reason: string;
  readonly device?: string | undefined;
  readonly callId?: string | undefined;
  readonly from?: string | undefined;
}

export interface VisionNeeds {
  readonly clock: Clock;
  readonly photos: Photos;
  readonly provider?: VisionProvider | undefined;
  readonly onPhoto: (photo: ExplainedPhoto) => void;
  readonly onRefused: (refused: RefusedPhoto) => void;
}

type KnownClaim = Exclude<Claim<Picture>, { readonly kind: "unknown" }>;

const unexplained =
  "The picture was taken and goes to whoever asked. Nobody explains pictures here: no vision provider is configured.";

export async function visionRoutes(http: FastifyInstance, needs: VisionNeeds): Promise<void> {
  const door = new VisionDoor(needs);
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const body = await door.answer(request, reply);
    // What was not read to its end cannot be followed by another request.
    if (!request.raw.readableEnded) reply.header("connection", "close");
    return await reply.code(200).type("application/json; charset=utf-8").send(body);
  };
  await http.register(async (routes) => {
    await acceptUploads(routes);
    // A type that cannot be read is refused before any handler; here it is one more broken form, and answered as such.
    routes.setErrorHandler(async (error: FastifyError, request, reply) => {
      if (error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return await answer(request, reply);
      throw error;
    });
    routes.post("/vision/explain", { schema: { hide: true } }, answer);
  });
}

class VisionDoor {
  readonly #needs: VisionNeeds;
  #running = 0;

  constructor(needs: VisionNeeds) {
    this.#needs = needs;
  }

  async answer(request: FastifyRequest, reply: FastifyReply): Promise<string> {
    const { device, claim } = this.#identify(request, reply);
    const callId = claim.kind === "granted" ? claim.ticket.callId : undefined;
    this.#running += 1;
    try {
      if (claim.kind !== "granted") return await this.#turnAway(request, claim.kind);
      if (this.#running > visionLimits.uploadsAtOnce.max) return await this.#turnAway(request, "busy");
      return await this.#receive(request, reply, claim.ticket);
    } catch (error) {
      const problem = error instanceof VisionProblem ? error : new VisionProblem("fault");
      const reason = problem.code === "fault" ? messageOf(error) : problem.message;
      this.#needs.onRefused({ code: problem.code, reason, device, callId, from: request.ip });
      return failureReply(problem.message);
    } finally {
      this.#running -= 1;
    }
  }

  /** Before a byte of the body is read. */
  #identify(request: FastifyRequest, reply: FastifyReply): { device: string; claim: KnownClaim } {
    const { deviceId: device, token } = readOrUndefined(request) ?? {};
    if (device !== undefined && token !== undefined) {
      const claim = this.#needs.photos.claim(token, device);
      if (claim.kind !== "unknown") return { device, claim };
    }
    const error = new TendonError(
      "unauthenticated",
      "no call of this device waits for a picture with this token",
    );
    this.#needs.onRefused({ code: error.code, reason: error.message, device, from: request.ip });
    reply.header("connection", "close");
    throw error;
  }

  async #turnAway(request: FastifyRequest, code: VisionProblemCode): Promise<never> {
    await discardUpload(request, this.#needs.clock);
    throw new VisionProblem(code);
  }

  async #receive(request: FastifyRequest, reply: FastifyReply, ticket: Ticket<Picture>): Promise<string> {
    const { clock, photos } = this.#needs;
    const startedAt = clock.monotonic();
    const { question, bytes } = await readUpload(request, clock);
    const mimeType = pictureTypeOf(bytes);
    if (mimeType === undefined) throw new VisionProblem("not_a_picture");
    const picture = await photos.accept(ticket, { bytes, mimeType, question: plainText(question) });
    if (picture === undefined) throw new VisionProblem("call_over");
    return await this.#explain(picture, ticket, reply, clock.monotonic() - startedAt);
  }

  /** The picture has reached its call by now; what goes wrong from here on costs only the words. */
  async #explain(
    picture: Picture,
    ticket: Ticket<Picture>,
    reply: FastifyReply,
    uploadMs: number,
  ): Promise<string> {
    const { clock, provider, onPhoto } = this.#needs;
    const startedAt = clock.monotonic();
    const { id, mimeType } = picture;
    const told = (problem: VisionProblem | undefined) =>
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
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    try {
      const text = await provider?.explain(picture, AbortSignal.any([gone.signal, ticket.over.signal]));
      told(undefined);
      return successReply(text ?? unexplained);
    } catch (error) {
      if (!(error instanceof VisionProblem)) throw error;
      told(error);
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
