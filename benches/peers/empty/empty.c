/* A program that does nothing: what the kernel and the C library cost. */
int main(void) { return 0; }
