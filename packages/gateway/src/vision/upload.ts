/**
 * Reads one upload: a form with a question and a picture, chunked, without a length. After an error the rest of the
 * body is read, up to a limit, before the reply: a board that is still sending does not read replies.
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

/** Passes bodies of every type to the handler unread, so that the sender is identified first. */
export async function acceptUploads(routes: FastifyInstance): Promise<void> {
  routes.removeAllContentTypeParsers();
  await routes.register(multipart, {
    throwFileSizeLimit: false,
    // Decided by name only, so that no other part can be larger than a question.
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
  return await withUploadDeadline(clock, async (deadline) => {
    const ended = endOf(raw);
    const form = readForm(request)
      .catch((error: unknown) => asProblem(request, error))
      .finally(() => {
        raw.unpipe();
        raw.resume();
      });
    // The end of the body first: a disconnected sender also makes the form invalid, and is the better reason to report.
    await Promise.race([ended, deadline]);
    const read = await Promise.race([form, deadline]);
    if (read instanceof VisionProblem) throw read;
    return read;
  });
}

/** Reads and discards a rejected upload, within the same limits. */
export async function discardUpload({ raw }: FastifyRequest, clock: Clock): Promise<void> {
  await withUploadDeadline(clock, async (deadline) => {
    await Promise.race([endOf(raw), deadline]);
  });
}

async function withUploadDeadline<Result>(
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

/** Uses events and not iteration: if the parser waits, the end of the request overtakes the parts after the picture. */
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
    const aborted = () => reject(new VisionProblem("cut_off"));
    if (raw.destroyed) aborted();
    raw.on("data", (chunk: Buffer) => {
      received += chunk.length;
      if (received > visionLimits.bodyBytes.max) reject(new VisionProblem("picture_too_large"));
    });
    raw.on("end", resolve);
    raw.on("error", aborted);
    raw.on("close", aborted);
  });
}

function asProblem(request: FastifyRequest, error: unknown): VisionProblem {
  if (error instanceof VisionProblem) return error;
  const { PartsLimitError, FilesLimitError } = request.server.multipartErrors;
  const tooMany = error instanceof PartsLimitError || error instanceof FilesLimitError;
  return new VisionProblem(tooMany ? "too_many_parts" : "not_a_form");
}
