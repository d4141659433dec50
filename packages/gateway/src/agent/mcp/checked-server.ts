import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { isObject, type JsonObject, parseJson } from "@tendon/protocol";

type Wrap = Server["_wrapHandler"];

/** Thrown to answer `tools/call` with a result that the SDK's schema of tool results does not have. */
export class NotAToolResult extends Error {
  override readonly name = "NotAToolResult";
  readonly result: JsonObject;

  constructor(result: JsonObject) {
    super("the call continues as a task");
    this.result = result;
  }
}

/** The SDK reports parameters of a wrong type as an internal error. They are the client's mistake: invalid params. */
export class CheckedServer extends Server {
  protected override _wrapHandler(...[method, handler]: Parameters<Wrap>): ReturnType<Wrap> {
    const wrapped = super._wrapHandler(method, handler);
    return async (request, context) => {
      try {
        return await wrapped(request, context);
      } catch (error) {
        if (error instanceof NotAToolResult) return error.result;
        const problem = parameterProblem(error);
        throw problem === undefined ? error : new ProtocolError(ProtocolErrorCode.InvalidParams, problem);
      }
    };
  }
}

/** The first problem of a plain error whose message is the SDK's list of them. */
function parameterProblem(error: unknown): string | undefined {
  if (!(error instanceof Error) || error.constructor !== Error || !error.message.startsWith("["))
    return undefined;
  const issues = parseJson(error.message);
  const first: unknown = Array.isArray(issues) ? issues[0] : undefined;
  if (!isObject(first) || !Array.isArray(first["path"])) return undefined;
  return `${first["path"].join(".")}: ${String(first["message"])}`;
}
