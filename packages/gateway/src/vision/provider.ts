/**
 * Whoever explains pictures: any address that answers chat completions as OpenAI's does. It is asked once and has a
 * deadline; what it says when it fails goes nowhere, because such texts like to repeat the key they were sent.
 */
import { isObject, parseJson, visionLimits } from "@tendon/protocol";
import type { Clock } from "../clock.ts";
import { StartError } from "../errors.ts";
import type { PictureType } from "./picture-format.ts";
import { plainText } from "./reply.ts";
import { VisionProblem } from "./vision-problem.ts";

export interface ProviderSettings {
  /** With or without `/chat/completions` at its end. */
  readonly url: string;
  readonly model: string;
  /** Servers at home often need none. */
  readonly apiKey?: string | undefined;
}

interface Question {
  readonly question: string;
  readonly mimeType: PictureType;
  readonly bytes: Buffer;
}

const standardQuestion = "What is in this picture?";
const method = "/chat/completions";

export class VisionProvider {
  readonly #url: URL;
  readonly #model: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #clock: Clock;

  constructor(settings: ProviderSettings, clock: Clock) {
    this.#url = addressOf(settings.url);
    this.#model = settings.model;
    this.#clock = clock;
    const key = settings.apiKey?.trim() ?? "";
    if (!/^[\x21-\x7e]*$/.test(key)) {
      throw new StartError("The key of vision.provider has characters that no key has.");
    }
    const authorization = key === "" ? {} : { authorization: `Bearer ${key}` };
    this.#headers = { "content-type": "application/json", accept: "application/json", ...authorization };
  }

  /** Its words about the picture. Throws a VisionProblem, also when `signal` says that nobody waits any more. */
  async explain(picture: Question, signal: AbortSignal): Promise<string> {
    const late = new AbortController();
    const timer = this.#clock.after(visionLimits.explainMs.max, () => late.abort());
    try {
      return await this.#ask(picture, AbortSignal.any([late.signal, signal]));
    } catch (error) {
      if (late.signal.aborted) throw new VisionProblem("provider_slow");
      if (signal.aborted) throw new VisionProblem("call_over");
      // What fetch throws may quote headers, and a header is the key.
      throw error instanceof VisionProblem ? error : new VisionProblem("provider_unreachable");
    } finally {
      timer.cancel();
    }
  }

  async #ask(picture: Question, signal: AbortSignal): Promise<string> {
    const response = await fetch(this.#url, {
      method: "POST",
      headers: this.#headers,
      body: JSON.stringify(this.#requestFor(picture)),
      // Another address than the configured one gets neither the picture nor the key.
      redirect: "manual",
      signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new VisionProblem("provider_refused", ` (status ${response.status}).`);
    }
    const text = readAnswer(parseJson(await readBody(response)));
    if (text === undefined || text === "") throw new VisionProblem("provider_unreadable");
    return text;
  }

  #requestFor({ question, mimeType, bytes }: Question) {
    const url = `data:${mimeType};base64,${bytes.toString("base64")}`;
    const content = [
      { type: "text", text: question === "" ? standardQuestion : question },
      { type: "image_url", image_url: { url } },
    ];
    return { model: this.#model, messages: [{ role: "user", content }] };
  }
}

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new StartError("vision.provider.url is not an http or https address.");
  }
  if (url.username !== "" || url.password !== "") {
    throw new StartError(
      "vision.provider.url has a name or password in it; the key has a setting of its own.",
    );
  }
  const path = url.pathname.replace(/\/+$/, "");
  url.pathname = path.endsWith(method) ? path : `${path}${method}`;
  return url;
}

async function readBody(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > visionLimits.providerReplyBytes.max) throw new VisionProblem("provider_unreadable");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** `choices[0].message.content`: a text, or a list of parts some of which are text. */
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
