/** What can be wrong with an upload or its explanation. The codes are for counting, the sentences for people. */
const sentences = {
  call_over: "The call that asked for this picture is over; the picture reaches nobody.",
  already_sent: "A picture was already sent for this call; this one reaches nobody.",
  busy: "Too many pictures are arriving at the same time. Try again in a moment.",
  not_a_form: "The upload is not a multipart form with a picture in it.",
  too_many_parts: "The upload has more parts than a question and a picture.",
  question_too_long: "The question is longer than 4 KiB.",
  no_picture: "The upload has no picture in its part `file`.",
  not_a_picture: "What was uploaded is neither a JPEG nor a PNG picture.",
  picture_too_large: "The picture is larger than 4 MiB.",
  too_slow: "The picture took longer than 30 seconds to arrive.",
  cut_off: "The connection ended before the whole picture was here.",
  provider_slow:
    "The picture was taken and goes to whoever asked, but the service that explains pictures did not answer in time.",
  provider_unreachable:
    "The picture was taken and goes to whoever asked, but the service that explains pictures cannot be reached.",
  provider_refused:
    "The picture was taken and goes to whoever asked, but the service that explains pictures refused it",
  provider_unreadable:
    "The picture was taken and goes to whoever asked, but the service that explains pictures gave no answer that can be read.",
  fault: "Something went wrong here; the gateway's log has the details.",
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
