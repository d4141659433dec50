/** What can fail with an upload or its description. The codes are for metrics, the sentences for people. */
const sentences = {
  call_over: "The call that requested this picture has ended. The picture was discarded.",
  already_sent: "A picture was already sent for this call. This one was discarded.",
  busy: "Too many pictures are being uploaded at the same time. Try again in a moment.",
  not_a_form: "The upload is not a multipart form with a picture.",
  too_many_parts: "The upload has more parts than a question and a picture.",
  question_too_long: "The question is longer than 4 KiB.",
  no_picture: "The upload has no picture in its part `file`.",
  not_a_picture: "The uploaded file is neither a JPEG nor a PNG picture.",
  picture_too_large: "The picture is larger than 4 MiB.",
  too_slow: "The upload of the picture took longer than 30 seconds.",
  cut_off: "The connection ended before the picture was complete.",
  provider_slow:
    "The photo was taken and is delivered to the caller, but the vision provider did not answer in time.",
  provider_unreachable:
    "The photo was taken and is delivered to the caller, but the vision provider cannot be reached.",
  provider_refused: "The photo was taken and is delivered to the caller, but the vision provider rejected it",
  provider_unreadable:
    "The photo was taken and is delivered to the caller, but the reply of the vision provider was not valid.",
  fault: "An internal error occurred. The gateway's log has the details.",
} as const;

export type VisionProblemCode = keyof typeof sentences;

export class VisionProblem extends Error {
  readonly code: VisionProblemCode;

  constructor(code: VisionProblemCode, more = "") {
    super(`${sentences[code]}${more}`);
    this.name = "VisionProblem";
    this.code = code;
  }
}
