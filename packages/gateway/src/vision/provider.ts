/**
 * The vision provider: any service with OpenAI's chat-completions API. One request with a deadline. The text of an
 * error reply is discarded, because it may contain the API key.
 */
import { isObject, parseJson, visionLimits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { StartError } from "../errors.ts";
import {
  type OutboundAnswer,
  OutboundError,
  outboundAddressProblem,
  outboundPost,
} from "../outbound-fetch.ts";
import type { PictureType } from "./picture-format.ts";
import { plainText } from "./reply.ts";
import { VisionProblem } from "./vision-problem.ts";

export interface ProviderSettings {
  /** `/chat/completions` at the end is optional. */
  readonly url: string;
  readonly model: string;
  /** Local servers often need none. */
  readonly apiKey?: string | undefined;
}

interface Question {
  readonly question: string;
  readonly mimeType: PictureType;
  readonly bytes: Buffer;
}

const defaultQuestion = "What is in this picture?";
const method = "/chat/completions";

const addressProblems = {
  protocol: "must be an http or https address.",
  credentials: "must not contain a user name or password. Set the key in vision.provider.apiKey.",
};

const problems = {
  timeout: "provider_slow",
  cancelled: "call_over",
  too_large: "provider_unreadable",
  unreachable: "provider_unreachable",
} as const;

export class VisionProvider {
  readonly #url: string;
  readonly #model: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #clock: Clock;

  constructor(settings: ProviderSettings, clock: Clock) {
    this.#url = addressOf(settings.url);
    this.#model = settings.model;
    this.#clock = clock;
    const key = settings.apiKey?.trim() ?? "";
    if (!/^[\x21-\x7e]*$/.test(key)) {
      throw new StartError(
        "vision.provider.apiKey has characters that are not allowed in an HTTP header. Check the key for spaces and line breaks.",
      );
    }
    const authorization = key === "" ? {} : { authorization: `Bearer ${key}` };
    this.#headers = { "content-type": "application/json", accept: "application/json", ...authorization };
  }

  /** Returns the description of the picture. Throws a VisionProblem, also if `signal` is aborted. */
  async explain(picture: Question, signal: AbortSignal): Promise<string> {
    const { status, text } = await this.#post(picture, signal);
    if (status !== 200) throw new VisionProblem("provider_refused", ` (status ${status}).`);
    const description = readAnswer(parseJson(text));
    if (description === undefined || description === "") throw new VisionProblem("provider_unreadable");
    return description;
  }

  async #post(picture: Question, signal: AbortSignal): Promise<OutboundAnswer> {
    try {
      return await outboundPost(this.#url, {
        clock: this.#clock,
        timeoutMs: visionLimits.explainMs.max,
        maxBytes: visionLimits.providerReplyBytes.max,
        headers: this.#headers,
        body: JSON.stringify(this.#requestFor(picture)),
        signal,
      });
    } catch (error) {
      // Without the cause: an error of fetch may quote headers, and one of them has the key.
      throw new VisionProblem(error instanceof OutboundError ? problems[error.kind] : "provider_unreachable");
    }
  }

  #requestFor({ question, mimeType, bytes }: Question) {
    const url = `data:${mimeType};base64,${bytes.toString("base64")}`;
    const content = [
      { type: "text", text: question === "" ? defaultQuestion : question },
      { type: "image_url", image_url: { url } },
    ];
    return { model: this.#model, messages: [{ role: "user", content }] };
  }
}

function addressOf(text: string): string {
  const problem = outboundAddressProblem(text);
  if (problem !== undefined) throw new StartError(`vision.provider.url ${addressProblems[problem]}`);
  const url = new URL(text);
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = path.endsWith(method) ? path : `${path}${method}`;
  return url.href;
}

/** `choices[0].message.content`: a text, or a list of parts of which some are text. */
function readAnswer(reply: unknown): string | undefined {
  const choices = isObject(reply) && Array.isArray(reply["choices"]) ? reply["choices"] : [];
  const [first]: unknown[] = choices;
  const message = isObject(first) ? first["message"] : undefined;
  const content = isObject(message) ? message["content"] : undefined;
  if (typeof content === "string") return plainText(content);
  if (!Array.isArray(content)) return undefined;
  const texts = content.map((part: unknown) => (isObject(part) ? part["text"] : undefined));
  return plainText(texts.filter((text) => typeof text === "string").join("\n"));
}
