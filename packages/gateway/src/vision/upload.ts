/**
 * One upload as it comes in: a form with a question and a picture, in chunks, without a length. Whatever is wrong
 * with it, the rest is read up to a bound before the answer goes out: a board that is still sending would not hear it.
 */

import type { IncomingMessage } from "node:http";
import multipart, { type MultipartFile } from "@fastify/multipart";
import { visionLimits } from "@tendon/protocol";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Clock } from "../clock.ts";
import { VisionProblem } from "./vision-problem.ts";

export interface Upload {
  readonly question: string;
  readonly bytes: Buffer;
}

/** Bodies reach their handler unread, whatever they call themselves: first it is seen who sends them. */
export async function acceptUploads(routes: FastifyInstance): Promise<void> {
  routes.removeAllContentTypeParsers();
  await routes.register(multipart, {
    throwFileSizeLimit: false,
    // By its name alone: then nothing but the picture is larger than a question.
    isPartAFile: (name) => name === "file",
    limits: {
      fileSize: visionLimits.pictureBytes.max,
      fieldSize: visionLimits.questionBytes.max,
      parts: visionLimits.parts.max,
      headerPairs: visionLimits.partHeaders.max,
      files: 1,
    },
  });
  routes.addContentTypeParser("*", (_request, _payload, done) => done(null));
}

export async function readUpload(request: FastifyRequest, clock: Clock): Promise<Upload> {
  const { raw } = request;
  return await inTime(clock, async (deadline) => {
    const ended = endOf(raw);
    const form = readForm(request)
      .catch((error: unknown) => asProblem(request, error))
      .finally(() => {
        raw.unpipe();
        raw.resume();
      });
    // The body's own end first: a form is also broken when its sender is gone, and that is what is worth saying.
    await Promise.race([ended, deadline]);
    const read = await Promise.race([form, deadline]);
    if (read instanceof VisionProblem) throw read;
    return read;
  });
}

/** For an upload that reaches nobody: read as far as any other, kept nowhere. */
export async function discardUpload({ raw }: FastifyRequest, clock: Clock): Promise<void> {
  await inTime(clock, async (deadline) => {
    await Promise.race([endOf(raw), deadline]);
  });
}

async function inTime<Result>(
  clock: Clock,
  work: (deadline: Promise<never>) => Promise<Result>,
): Promise<Result> {
  let late: (problem: VisionProblem) => void = () => undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    late = reject;
  });
  const timer = clock.after(visionLimits.uploadMs.max, () => late(new VisionProblem("too_slow")));
  try {
    return await work(deadline);
  } finally {
    timer.cancel();
  }
}

async function readForm(request: FastifyRequest): Promise<Upload> {
  if (!request.isMultipart()) throw new VisionProblem("not_a_form");
  let question = "";
  let bytes: Buffer | undefined;
  for await (const part of request.parts()) {
    if (part.type === "file") bytes = await collect(part.file);
    else if (part.fieldname === "question") {
      if (part.valueTruncated) throw new VisionProblem("question_too_long");
      question = typeof part.value === "string" ? part.value : "";
    }
  }
  if (bytes === undefined || bytes.length === 0) throw new VisionProblem("no_picture");
  return { question, bytes };
}

/** By events, not by iteration: the parser must never wait for us, or the request's end overtakes parts behind the picture. */
function collect(file: MultipartFile["file"]): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const broken = () => reject(new VisionProblem("not_a_form"));
    file.on("data", (chunk: Buffer) => chunks.push(chunk));
    file.on("limit", () => {
      chunks.length = 0;
      reject(new VisionProblem("picture_too_large"));
    });
    file.on("end", () => resolve(Buffer.concat(chunks)));
    file.on("error", broken);
    file.on("close", broken);
  });
}

function endOf(raw: IncomingMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    let received = 0;
    const cut = () => reject(new VisionProblem("cut_off"));
    if (raw.destroyed) cut();
    raw.on("data", (chunk: Buffer) => {
      received += chunk.length;
      if (received > visionLimits.bodyBytes.max) reject(new VisionProblem("picture_too_large"));
    });
    raw.on("end", resolve);
    raw.on("error", cut);
    raw.on("close", cut);
  });
}

function asProblem(request: FastifyRequest, error: unknown): VisionProblem {
  if (error instanceof VisionProblem) return error;
  const { PartsLimitError, FilesLimitError } = request.server.multipartErrors;
  const tooMany = error instanceof PartsLimitError || error instanceof FilesLimitError;
  return new VisionProblem(tooMany ? "too_many_parts" : "not_a_form");
}
