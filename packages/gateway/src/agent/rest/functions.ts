/**
 * Agents without MCP: the tools of the fleet as function definitions for LLM APIs, and one route that runs a function
 * by its name. A token sees and calls the same tools here as over MCP [FUN-1…2].
 */
import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server";
import {
  type CallOrigin,
  didYouMean,
  FunctionCallRequest,
  FunctionReply,
  isErrorCode,
  isObject,
  type JsonObject,
  limits,
  nearNames,
} from "@tendon/protocol";
import type { FastifyReply } from "fastify";
import Type from "typebox";
import { asAgent, type Principal, requireScope, SharedPool } from "../../access/access.ts";
import { TendonError } from "../../errors.ts";
import { failures, type Http } from "../http/http.ts";
import {
  type Caller,
  compactFunctions,
  compactToolCalled,
  plainCalls,
  readArguments,
} from "../mcp/compact/compact.ts";
import type { Services } from "../services.ts";
import { ClientDisconnect, disconnectSignal } from "./client-disconnect.ts";
import type { RestDependencies } from "./rest.ts";
import { IdempotencyHeaders, once, originOf } from "./route-parts.ts";

const Schema = Type.Record(Type.String(), Type.Unknown());
const described = { name: Type.String(), description: Type.String() };

const OpenAiTools = Type.Object({
  tools: Type.Array(
    Type.Object({
      type: Type.Literal("function"),
      function: Type.Object({ ...described, parameters: Schema }),
    }),
  ),
});

const AnthropicTools = Type.Object({
  tools: Type.Array(Type.Object({ ...described, input_schema: Schema })),
});

interface FunctionDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

type FunctionDependencies = Pick<RestDependencies, "services" | "clock" | "events">;

export function functionRoutes(http: Http, dependencies: FunctionDependencies): void {
  const { services } = dependencies;
  const waits = new SharedPool(limits.eventWaits.max, "agents that wait for events");
  http.get(
    "/tools.openai.json",
    {
      schema: {
        operationId: "listOpenAiTools",
        summary: "The tools as function definitions for OpenAI's API and compatible ones",
        description:
          "The tools that `/mcp` lists for the same token. Pass the list as `tools` of a chat completion.",
        tags: ["functions"],
        response: { 200: OpenAiTools, ...failures },
      },
    },
    (request) => ({
      tools: shownTo(services, request.principal).map(({ name, description, inputSchema }) => ({
        type: "function" as const,
        function: { name, description, parameters: inputSchema },
      })),
    }),
  );
  http.get(
    "/tools.anthropic.json",
    {
      schema: {
        operationId: "listAnthropicTools",
        summary: "The tools as definitions for Anthropic's API",
        description: "The tools that `/mcp` lists for the same token. Pass the list as `tools` of a message.",
        tags: ["functions"],
        response: { 200: AnthropicTools, ...failures },
      },
    },
    (request) => ({
      tools: shownTo(services, request.principal).map(({ name, description, inputSchema }) => ({
        name,
        description,
        input_schema: inputSchema,
      })),
    }),
  );
  http.post(
    "/function-call",
    {
      schema: {
        operationId: "callFunction",
        summary: "Call a function by its listed name",
        description: "If the tool itself reports an error, the reply is a 200 with `isError: true`.",
        tags: ["functions"],
        headers: IdempotencyHeaders,
        body: FunctionCallRequest,
        response: { 200: FunctionReply, ...failures },
      },
    },
    (request, reply) => {
      const caller = { ...dependencies, principal: asAgent(request.principal), waits };
      return once(services, request, (keyed) =>
        run(caller, request.body, originOf(request), keyed ? undefined : reply),
      );
    },
  );
}

function shownTo(services: Services, principal: Principal): readonly FunctionDefinition[] {
  requireScope(principal, "read");
  const agent = asAgent(principal);
  const { toolset } = services;
  return toolset.fits(agent) ? [...compactFunctions, ...toolset.list(agent)] : compactFunctions;
}

async function run(
  caller: Caller,
  { name, arguments: given = {}, timeoutMs }: FunctionCallRequest,
  origin: CallOrigin,
  reply: FastifyReply | undefined,
): Promise<FunctionReply> {
  const { services, principal } = caller;
  const args = typeof given === "string" ? readArguments(given) : given;
  const compact = compactToolCalled(name);
  if (compact !== undefined) {
    const context = contextOf(reply === undefined ? new AbortController().signal : disconnectSignal(reply));
    const request = { view: caller, context };
    return finished(name, await compact.run({ ...request, ...plainCalls(request) }, args));
  }
  const address = services.toolset.resolve(principal, name);
  if (address === undefined) {
    const ours = nearNames(
      name,
      compactFunctions.map((known) => known.name),
    );
    const near = didYouMean(ours.length > 0 ? ours : services.toolset.near(principal, name));
    throw new TendonError(
      "tool_unknown",
      `no function is called \`${name}\`${near || "; `tools_search` finds tools"}`,
    );
  }
  const signal = reply === undefined ? undefined : new ClientDisconnect(reply);
  const done = await services.calls.call(principal, address.device, address.tool, args, {
    timeoutMs,
    signal,
    origin,
  });
  return { name, ...done };
}

/** Safe: compact tools use only the signal of the context, and progress if the client requested it. */
function contextOf(signal: AbortSignal): ServerContext {
  return { mcpReq: { signal } } as unknown as ServerContext;
}

/** Compact tools return a failed call as an MCP result; this turns it into a problem document, as in every REST route. */
function finished(name: string, end: unknown): FunctionReply {
  const { content, structuredContent, isError = false, _meta } = end as CallToolResult;
  const failure = _meta?.["tendon/error"];
  if (isObject(failure) && typeof failure["code"] === "string" && isErrorCode(failure["code"])) {
    const { code, ...context } = failure;
    throw new TendonError(failure["code"], detailOf(content, failure["code"]), context);
  }
  const call = isObject(_meta?.["tendon/call"]) ? _meta["tendon/call"] : {};
  return {
    name,
    ...call,
    result: {
      content: content as JsonObject[],
      isError,
      ...(isObject(structuredContent) ? { structuredContent } : {}),
    },
  };
}

function detailOf(content: CallToolResult["content"], code: string): string {
  const [first] = content;
  const text = first?.type === "text" ? first.text : "";
  return text.startsWith(`${code}: `) ? text.slice(code.length + 2) : text;
}
