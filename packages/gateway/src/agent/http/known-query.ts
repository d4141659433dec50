import { didYouMean, nearNames } from "@tendon/protocol";
import type { FastifyRequest } from "fastify";
import { TendonError } from "../../errors.ts";
import type { Http } from "./server.ts";

const longestShown = 64;

/** Rejects query parameters that a REST route does not have: a misspelt filter lists more, and deletes less, than asked. */
export function requireKnownQuery(http: Http): void {
  http.addHook("onRoute", (route) => {
    if (!route.url.startsWith("/api/") || route.schema?.hide === true) return;
    const known = Object.keys(
      (route.schema?.querystring as { properties?: object } | undefined)?.properties ?? {},
    );
    const check = (request: FastifyRequest, _reply: unknown, next: () => void) => {
      checkQuery(request.query as object, known);
      next();
    };
    route.preValidation = [check, ...[route.preValidation ?? []].flat()];
  });
}

function checkQuery(query: object, known: readonly string[]): void {
  const unknown = Object.keys(query).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const shown = unknown.length > longestShown ? `${unknown.slice(0, longestShown)}…` : unknown;
  const near = didYouMean(nearNames(unknown, known));
  const takes = known.length === 0 ? "this address takes none" : `known are ${listOf(known)}`;
  const rest = near === "" ? `; ${takes}` : `${near} ${takes.slice(0, 1).toUpperCase()}${takes.slice(1)}`;
  throw new TendonError("bad_request", `there is no query parameter \`${shown}\`${rest}`, {
    errors: [{ path: `/${shown}`, message: "is not a known query parameter" }],
  });
}

function listOf(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  const last = quoted.pop() ?? "";
  return quoted.length === 0 ? last : `${quoted.join(", ")} and ${last}`;
}
