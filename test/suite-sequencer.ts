/**
 * The order of the test files. Vitest starts with the largest, as a guess at the longest. The files of test/scenarios are
 * a few lines over hundreds of tests: left to the end, each would keep one worker busy while the others wait.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node";

export class SuiteSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isScenario = ({ moduleId }: TestSpecification) => moduleId.includes("/test/scenarios/");
    // Workers serve one project each: its files stay together.
    return [...new Set(sorted.map(({ project }) => project))].flatMap((project) => {
      const own = sorted.filter((file) => file.project === project);
      return [...own.filter(isScenario), ...own.filter((file) => !isScenario(file))];
    });
  }
}
