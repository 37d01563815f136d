export const EXECUTABLE: string;
export const ARGS: string[];
