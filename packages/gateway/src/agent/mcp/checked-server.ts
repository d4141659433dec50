import { ProtocolError, ProtocolErrorCode, Server } from "@modelcontextprotocol/server";
import { isObject, parseJson } from "@tendon/protocol";

type Wrap = Server["_wrapHandler"];

/** The SDK reports parameters of a wrong type as an internal error. They are the client's mistake: invalid params. */
export class CheckedServer extends Server {
  protected override _wrapHandler(...[method, handler]: Parameters<Wrap>): ReturnType<Wrap> {
    const wrapped = super._wrapHandler(method, handler);
    return async (request, context) => {
      try {
        return await wrapped(request, context);
      } catch (error) {
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
