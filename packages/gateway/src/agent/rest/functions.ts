/**
 * The other way in for agents: the tools of the fleet as function definitions of plain LLM APIs, and one address that
 * runs a function by its name. What is shown and what may run is what an MCP client with the same token gets [FUN-1…2].
 */
import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server";
import {
  didYouMean,
  FunctionCallRequest,
  FunctionReply,
  isErrorCode,
  isObject,
  type JsonObject,
} from "@tendon/protocol";
import type { FastifyReply } from "fastify";
import Type from "typebox";
import { asAgent, type Principal, requireScope } from "../../access/access.ts";
import { TendonError } from "../../errors.ts";
import type { Http } from "../http/http.ts";
import {
  type Asker,
  compactFunctions,
  compactToolCalled,
  plainCalls,
  readArguments,
} from "../mcp/compact/compact.ts";
import type { Services } from "../services.ts";
import { HangUp, hangUpSignal } from "./hang-up.ts";
import type { RestNeeds } from "./rest.ts";
import { failures, IdempotencyHeaders, once } from "./route-parts.ts";

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

type FunctionNeeds = Pick<RestNeeds, "services" | "clock" | "events">;

export function functionRoutes(http: Http, needs: FunctionNeeds): void {
  const { services } = needs;
  const waits = { count: 0 };
  http.get(
    "/tools.openai.json",
    {
      schema: {
        summary: "The tools as function definitions for OpenAI's API and those that copy it",
        description: "What `/mcp` shows to the same token. The list goes into `tools` of a chat completion.",
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
        summary: "The tools as definitions for Anthropic's API",
        description: "What `/mcp` shows to the same token. The list goes into `tools` of a message.",
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
        summary: "Run a function by the name it is shown under",
        description:
          "A function that fails by its own account is a 200 with `isError: true`, as in any call.",
        tags: ["functions"],
        headers: IdempotencyHeaders,
        body: FunctionCallRequest,
        response: { 200: FunctionReply, ...failures },
      },
    },
    (request, reply) => {
      const asker = { ...needs, principal: asAgent(request.principal), waits };
      return once(services, request, (keyed) => run(asker, request.body, keyed ? undefined : reply));
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
  asker: Asker,
  { name, arguments: given = {}, timeoutMs }: FunctionCallRequest,
  reply: FastifyReply | undefined,
): Promise<FunctionReply> {
  const { services, principal } = asker;
  const args = typeof given === "string" ? readArguments(given) : given;
  const compact = compactToolCalled(name);
  if (compact !== undefined) {
    const context = contextOf(reply === undefined ? new AbortController().signal : hangUpSignal(reply));
    const asking = { view: asker, context };
    return finished(name, await compact.run({ ...asking, ...plainCalls(asking) }, args));
  }
  const address = services.toolset.resolve(principal, name);
  if (address === undefined) {
    const near = didYouMean(services.toolset.near(principal, name));
    throw new TendonError("tool_unknown", `no function is called \`${name}\`${near}`);
  }
  const signal = reply === undefined ? undefined : new HangUp(reply);
  const done = await services.calls.call(principal, address.device, address.tool, args, {
    timeoutMs,
    signal,
  });
  return { name, ...done };
}

/** Safe: nobody asked for progress, and of all else our own tools look at the signal only. */
function contextOf(signal: AbortSignal): ServerContext {
  return { mcpReq: { signal } } as unknown as ServerContext;
}

/** Our own tools answer in MCP's words, where a failed call is an answer too; here it is a problem, as on any route. */
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
