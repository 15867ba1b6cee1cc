// In place of OpenSSL in the wheel, where it would be a tenth of the size: libzip asks for it when an entry is encrypted, which we
// neither write nor read. Each function fails, and libzip then says that such an entry cannot be opened.
#include <stddef.h>

int RAND_bytes(unsigned char* out, int count);
int PKCS5_PBKDF2_HMAC_SHA1(const char* pass, int pass_length, const unsigned char* salt,
                           int salt_length, int rounds, int length, unsigned char* out);
const void* EVP_sha1(void);
void* HMAC_CTX_new(void);
void HMAC_CTX_free(void* context);
int HMAC_Init_ex(void* context, const void* key, int length, const void* digest, void* engine);
int HMAC_Update(void* context, const unsigned char* data, size_t length);
int HMAC_Final(void* context, unsigned char* out, unsigned int* length);
int AES_set_encrypt_key(const unsigned char* key, int bits, void* schedule);
void AES_encrypt(const unsigned char* in, unsigned char* out, const void* schedule);

int RAND_bytes(unsigned char* out, int count) {
  return (void)out, (void)count, 0;
}
int PKCS5_PBKDF2_HMAC_SHA1(const char* pass, int pass_length, const unsigned char* salt,
                           int salt_length, int rounds, int length, unsigned char* out) {
  (void)pass, (void)pass_length, (void)salt, (void)salt_length, (void)rounds;
  return (void)length, (void)out, 0;
}
const void* EVP_sha1(void) {
  return NULL;
}
void* HMAC_CTX_new(void) {
  return NULL;
}
void HMAC_CTX_free(void* context) {
  (void)context;
}
int HMAC_Init_ex(void* context, const void* key, int length, const void* digest, void* engine) {
  return (void)context, (void)key, (void)length, (void)digest, (void)engine, 0;
}
int HMAC_Update(void* context, const unsigned char* data, size_t length) {
  return (void)context, (void)data, (void)length, 0;
}
int HMAC_Final(void* context, unsigned char* out, unsigned int* length) {
  return (void)context, (void)out, (void)length, 0;
}
int AES_set_encrypt_key(const unsigned char* key, int bits, void* schedule) {
  return (void)key, (void)bits, (void)schedule, -1;
}
void AES_encrypt(const unsigned char* in, unsigned char* out, const void* schedule) {
  (void)in, (void)out, (void)schedule;
}
