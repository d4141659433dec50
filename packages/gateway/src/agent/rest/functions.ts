/**
 * The other way in for agents: the tools of the fleet as function definitions of plain LLM APIs, and one address that
 * runs a function by its name. What is shown and what may run is what an MCP client with the same token gets [FUN-1…2].
 */
import { CallReply, FunctionCallRequest } from "@tendon/protocol";
import Type from "typebox";
import { TendonError } from "../../errors.ts";
import { asAgent, type ExposedTool, type Principal, type Registry } from "../../registry/registry.ts";
import type { Http } from "../http.ts";
import { HangUp } from "./hang-up.ts";
import { failures, IdempotencyHeaders, once } from "./route-parts.ts";

const Schema = Type.Record(Type.String(), Type.Unknown());

const OpenAiTools = Type.Object({
  tools: Type.Array(
    Type.Object({
      type: Type.Literal("function"),
      function: Type.Object({ name: Type.String(), description: Type.String(), parameters: Schema }),
    }),
  ),
});

const AnthropicTools = Type.Object({
  tools: Type.Array(Type.Object({ name: Type.String(), description: Type.String(), input_schema: Schema })),
});

export function functionRoutes(http: Http, registry: Registry): void {
  http.get(
    "/tools.openai.json",
    {
      schema: {
        summary: "The tools as function definitions for OpenAI's API and those that copy it",
        tags: ["functions"],
        response: { 200: OpenAiTools, ...failures },
      },
    },
    (request) => ({
      tools: shownTo(registry, request.principal).map(({ name, description, inputSchema }) => ({
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
        tags: ["functions"],
        response: { 200: AnthropicTools, ...failures },
      },
    },
    (request) => ({
      tools: shownTo(registry, request.principal).map(({ name, description, inputSchema }) => ({
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
        tags: ["functions"],
        headers: IdempotencyHeaders,
        body: FunctionCallRequest,
        response: { 200: CallReply, ...failures },
      },
    },
    (request, reply) => {
      const principal = asAgent(request.principal);
      const { name, arguments: args = {}, timeoutMs } = request.body;
      const address = registry.toolset.resolve(principal, name);
      if (address === undefined) throw new TendonError("tool_unknown", `no function is called \`${name}\``);
      return once(registry, request, (keyed) =>
        registry.calls.call(principal, address.device, address.tool, args, {
          timeoutMs,
          signal: keyed ? undefined : new HangUp(reply),
        }),
      );
    },
  );
}

function shownTo(registry: Registry, principal: Principal): readonly ExposedTool[] {
  return registry.toolset.fits(principal) ? registry.toolset.list(principal) : [];
}
